"""Models: the distribution of a reward, given the mean of its arm.  One file per model.

    model               rewards         mean x       variance V(x)  divergence d(x, y) from x to y
    Gaussian(sigma)     normal          all          sigma^2        (x - y)^2 / (2 sigma^2)
    Bounded(low, high)  in [low, high]  [low, high]  <= sigma^2     same, sigma = (high - low)/2
    Bernoulli()         0 or 1          [0, 1]       x (1 - x)      x r((y-x)/x)
                                                                    + (1-x) r((x-y)/(1-x))
    Poisson()           0, 1, 2, ...    [0, inf)     x              x r((y-x)/x)
    Exponential()       above 0         (0, inf)     x^2            r((x-y)/y)
    Gaussian(None)      normal          all          unknown        none: it depends on sigma

with r(u) = u - log(1 + u).  The linear terms of the logarithms cancel, and r is what remains.

To add a model, read docs/add-a-model.md.
"""


class ModelWarning(UserWarning):
    """The rewards do not look as if they followed the model that was stated."""
