"""The cheapest alternative by trying every one.  Slow and obvious."""

import math


def line(objective_name, epsilon):
    """(c, e): arm k is good when mu_k >= c mu_l - e for all l."""
    return (1.0, epsilon) if objective_name == "Additive" else (1.0 - epsilon, 0.0)


def expel_cost(mu, v, k, l, c, e):
    if v[k] == 0.0 or v[l] == 0.0:
        return 0.0
    return (mu[k] - c * mu[l] + e) ** 2 / (2.0 * (1.0 / v[k] + c**2 / v[l]))


def admit_cost(mu, v, k, c, e):
    """Minimise over theta, the height of the tallest arm under the alternative.

    The cost is convex, and a parabola between two means.  So it is least at an end of the range or
    where one of the parabolas is: that of the first r arms from the top, for some r.
    """
    others = sorted((l for l in range(len(mu)) if l != k), key=lambda l: -mu[l])

    def cost(theta):
        total = v[k] * (c * theta - e - mu[k]) ** 2 / 2.0
        for l in others:
            if mu[l] > theta:
                total += v[l] * (mu[l] - theta) ** 2 / 2.0
        return total

    low, high = (mu[k] + e) / c, max(mu)
    if high <= low:
        return 0.0
    found = min(cost(low), cost(high))
    pull, weight = v[k] * c * (mu[k] + e), v[k] * c * c
    for l in others:
        pull, weight = pull + v[l] * mu[l], weight + v[l]
        if weight > 0.0 and low < pull / weight < high:
            found = min(found, cost(pull / weight))
    return found


def cheapest(mu, v, objective_name, epsilon):
    """The infimum of the cost over all alternatives; inf where there is none."""
    c, e = line(objective_name, epsilon)
    mu, v = [float(x) for x in mu], [float(x) for x in v]
    top, arms = max(mu), range(len(mu))
    if c < 1.0 and top < 0.0:
        return min(v[a] * mu[a] ** 2 / 2.0 for a in arms)
    costs = [math.inf]
    if c < 1.0:
        costs.append(sum(v[a] * mu[a] ** 2 / 2.0 for a in arms if mu[a] > 0.0))
    good = [a for a in arms if mu[a] >= c * top - e]
    for k in arms:
        if k in good:
            costs += [expel_cost(mu, v, k, l, c, e) for l in good if l != k]
        else:
            costs.append(admit_cost(mu, v, k, c, e))
    return min(costs)
