// The verdict of a study with all that it rests on: read it, save it, check it here.
import { address, get, post } from "../api.js";
import { announce, badge, h, mark, replace, save } from "../dom.js";
import { toast } from "../dialog.js";
import { armPath, deleted, studyHead } from "../head.js";
import { count, fixed, list, number, percent, plural } from "../format.js";
import { watch } from "../live.js";
import { rowsBox } from "../rows.js";

const LABELS = ["good", "bad", "open"];
const FEW = 60; // names of one label that are shown at once

const MODELS = {
  gaussian: (m) =>
    m.sigma === null || m.sigma === undefined
      ? "normal, with an unknown standard deviation"
      : Array.isArray(m.sigma)
        ? "normal, with a standard deviation for each arm"
        : `normal, with a standard deviation of ${number(m.sigma)}`,
  bernoulli: () => "0 or 1",
  poisson: () => "counts (Poisson)",
  exponential: () => "waiting times (exponential)",
  bounded: (m) => `anything between ${number(m.low)} and ${number(m.high)}`,
};
const model = (model) => MODELS[model.name]?.(model) ?? model.name;

// "an arm is good if its mean is within 15 of the best"
function goodness({ name, epsilon }) {
  return name === "multiplicative"
    ? `its mean is at least ${percent(1 - epsilon)} of the best mean`
    : `its mean is within ${number(epsilon)} of the best mean`;
}

const OUTCOMES = {
  certified: "Every label is certified.",
  running: "The study is still running. What is certified so far holds; the rest is open.",
  "budget exhausted": "The budget is used up. What is certified holds; the rest stays open.",
  dropped: "Every arm that is open was given up. What is certified holds; the rest stays open.",
};

function names(certificate, label, id) {
  const arms = certificate.arms.filter((arm) => arm.label === label);
  if (!arms.length) return null;
  const link = (arm) =>
    h("li", {}, id === null ? arm.arm : h("a", { href: armPath(id, arm.arm) }, arm.arm));
  const box = h("ul", { class: `names ${label}` }, arms.slice(0, FEW).map(link));
  const more =
    arms.length > FEW &&
    h(
      "button",
      {
        type: "button",
        class: "plain small",
        onclick: () => {
          box.append(...arms.slice(FEW).map(link));
          more.remove();
        },
      },
      `Show ${count(arms.length - FEW)} more`,
    );
  return h(
    "section",
    { class: "label-group" },
    h("h3", {}, badge(label, `${count(arms.length)} ${label}`)),
    box,
    more || null,
  );
}

function words(certificate) {
  const { question, log, values, quality, versions } = certificate;
  const said = [];
  if (values.suspect?.length)
    said.push(`${plural(values.suspect.length, "value")} held back as suspect`);
  if (values.confirmed?.length)
    said.push(`${plural(values.confirmed.length, "suspect value")} confirmed by a person`);
  if (values.waiting?.length)
    said.push(`${plural(values.waiting.length, "value")} waiting for earlier ones`);
  if (values.censored) said.push(`${plural(values.censored, "wait")} given up at the censoring time`);
  if (values.normalised)
    said.push(`${plural(values.normalised, "value")} taken in units of controls`);
  const checks = [
    quality.check_values
      ? "Values that cannot be were held back."
      : "Values were not checked for slips.",
    quality.in_order ? "Values counted in the order of their tickets." : null,
    quality.censor_at ? `Waits were given up after ${number(quality.censor_at)}.` : null,
  ]
    .filter(Boolean)
    .join(" ");
  const item = (name, ...content) => h("div", {}, h("dt", {}, name), h("dd", {}, content));
  const hash = h("code", { class: "hash" }, log.sha256);
  return h(
    "dl",
    { class: "cert-facts" },
    item(
      "The question",
      `Which of ${plural(question.arms.length, "arm")} are good? An arm is good if ` +
        `${goodness(question.objective)}.`,
    ),
    item(
      "The guarantee",
      `With probability at least ${percent(1 - question.delta, 4)} no label is ` +
        `wrong, if the measurements are ${model(certificate.model)}, as the study says, ` +
        `independent of each other, with means that do not change.`,
    ),
    item(
      "The log",
      `${plural(log.measurements, "measurement")}, told or held back, in ` +
        `${plural(log.events, "event")}. ${checks}${said.length ? ` ${list(said)}.` : ""}`,
    ),
    question.withdrawn?.length
      ? item(
          "Not in the question",
          `${list(question.withdrawn, 12)}: given up before the first measurement.`,
        )
      : null,
    item(
      "SHA-256 of the log",
      hash,
      " ",
      h(
        "button",
        {
          type: "button",
          class: "small",
          "aria-label": "Copy the digest",
          onclick: async () => {
            try {
              await navigator.clipboard.writeText(log.sha256);
              toast("The digest is in the clipboard.");
            } catch {
              getSelection().selectAllChildren(hash);
              toast("The digest is marked: copy it with the keyboard.");
            }
          },
        },
        "Copy",
      ),
      h(
        "span",
        { class: "hint" },
        "The same as the sha256sum of the exported events: who has both can see that " +
          "nothing was changed.",
      ),
    ),
    item("Made by", `allgood ${versions.allgood}, rules ${versions.rules}`),
  );
}

function claimsTable(certificate, id, signal) {
  const { claims } = certificate;
  const against = (claim) => {
    if (!claim.rests_on.length) return "no rival left";
    const rivals = claim.rests_on.map((one) =>
      one.against === claim.arm ? "zero" : (one.against ?? "the pool"),
    );
    return list(rivals, 3);
  };
  const table = rowsBox({
    label: "Claims in the order of certification",
    kind: "claims",
    columns: ["Arm", "Label", "Certified after", "Evidence", "Need", "Against"],
    wide: 38,
    narrow: 70,
    signal,
    draw: (i) => {
      const claim = claims[i];
      if (!claim) return null;
      return [
        id === null ? claim.arm : h("a", { href: armPath(id, claim.arm) }, claim.arm),
        badge(claim.label),
        { class: "number", content: plural(claim.after, "measurement") },
        { class: "number", content: fixed(claim.evidence, 2) },
        { class: "number", content: fixed(claim.need, 2) },
        h(
          "span",
          { title: claim.rests_on.map((one) => one.against ?? "the pool").join(", ") },
          against(claim),
        ),
      ];
    },
  });
  return table;
}

// The answer as text, byte for byte.
async function getText(path, signal) {
  const response = await fetch(address(path), {
    signal,
    credentials: "same-origin",
    cache: "no-store",
  });
  if (!response.ok) await get(path, { signal }); // says in a sentence what is wrong
  return response.text();
}

// What the verifier found, in a sentence.
function verdict(found, name) {
  const problems = found.problems ?? [];
  if (found.ok) {
    const sure = found.status === "verified";
    const heading = {
      verified: "Verified",
      "verified, doubtful": "Verified, but doubtful",
      "recomputed only": "Recomputed only",
    }[found.status];
    return h(
      "div",
      { class: sure ? "notice good" : "notice", role: "status" },
      h("h2", {}, heading),
      h(
        "p",
        {},
        `${plural(found.claims, "claim")} of ${name} ` +
          `${found.claims === 1 ? "recomputes" : "recompute"}`,
        found.log
          ? ` and ${found.claims === 1 ? "agrees" : "agree"} with the events of the study.`
          : ". The log was not looked at, so nothing shows that the numbers were measured.",
      ),
      found.doubts?.length
        ? h(
            "ul",
            {},
            found.doubts.map((doubt) => h("li", {}, doubt)),
          )
        : null,
      found.remark && h("p", {}, found.remark),
    );
  }
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("h2", {}, "Not verified"),
    h(
      "p",
      {},
      `${plural(problems.length, "thing")} in ${name} ` +
        `${problems.length === 1 ? "does" : "do"} not hold.`,
    ),
    found.remark && h("p", {}, found.remark),
    h(
      "ul",
      {},
      problems.slice(0, 50).map((p) => h("li", {}, p)),
      problems.length > 50 ? h("li", {}, `and ${count(problems.length - 50)} more`) : null,
    ),
  );
}

export async function show(main, params, signal) {
  const { id } = params;
  const { study } = await studyHead(main, id, "certificate", signal);
  document.title = `Certificate of ${study.name} · allgood`;
  // Its digests are of its text, and JavaScript writes 1.0 as 1: so the text is kept, saved and
  // sent as it came.
  let certificate = null,
    text = "";
  const body = h("div", {}),
    result = h("div", { class: "verify-result" }),
    stale = h("p", { class: "notice", hidden: true });

  async function load() {
    text = await getText(`studies/${id}/certificate`, signal);
    certificate = JSON.parse(text);
    const by = Object.fromEntries(
      LABELS.map((label) => [label, certificate.arms.filter((arm) => arm.label === label).length]),
    );
    const table = claimsTable(certificate, id, signal);
    replace(
      body,
      h(
        "div",
        { class: "cert-top" },
        h(
          "div",
          { class: "seal" },
          LABELS.map((label) =>
            h("span", { class: label }, mark(label, 16), h("b", {}, count(by[label])), label),
          ),
        ),
        h("p", { class: "verdict" }, OUTCOMES[certificate.outcome] ?? certificate.outcome),
      ),
      certificate.doubts?.length
        ? h(
            "div",
            { class: "notice bad" },
            h("h2", {}, "The guarantee does not hold"),
            h("p", {}, "The measurements do not fit the model of the study: see its overview."),
          )
        : null,
      h(
        "div",
        { class: "cert-grid" },
        h(
          "section",
          { class: "card", "aria-labelledby": "cert-words" },
          h("h2", { id: "cert-words" }, "What it says"),
          words(certificate),
        ),
        h(
          "section",
          { class: "card", "aria-labelledby": "cert-arms" },
          h("h2", { id: "cert-arms" }, "Arms"),
          LABELS.map((label) => names(certificate, label, id)),
        ),
      ),
      h(
        "section",
        { class: "claims-section", "aria-labelledby": "cert-claims" },
        h("h2", { id: "cert-claims" }, "What each label rests on"),
        h(
          "p",
          { class: "lead" },
          "A label is certified when its evidence reaches what it needs. The " +
            "certificate holds the counts and sums of that moment, so that anybody can " +
            "compute it again.",
        ),
        certificate.claims.length
          ? table.element
          : h("p", { class: "empty" }, "No label is certified yet."),
      ),
    );
    if (certificate.claims.length) table.set(certificate.claims.length);
    stale.hidden = true;
  }

  async function check(raw, name, ofStudy, button) {
    if (button) button.disabled = true;
    replace(result, h("p", { class: "soft", role: "status" }, `Checking ${name} …`));
    try {
      const found = await post(
        "verify",
        `{"certificate":${raw},"study":${ofStudy ? Number(id) : null}}`,
        { signal, type: "application/json" },
      );
      replace(result, verdict(found, name));
      announce(found.verdict);
    } catch (error) {
      if (!signal.aborted)
        replace(
          result,
          h(
            "div",
            { class: "notice bad", role: "alert" },
            h("p", {}, error.detail ?? String(error)),
          ),
        );
    } finally {
      if (button) button.disabled = false;
    }
  }

  async function checkFile(file) {
    let raw, other;
    try {
      raw = await file.text();
      other = JSON.parse(raw);
    } catch {
      replace(
        result,
        h(
          "div",
          { class: "notice bad", role: "alert" },
          h("p", {}, `${file.name} is no certificate: it is not JSON.`),
        ),
      );
      return;
    }
    const same = other?.study?.uid === certificate.study.uid;
    await check(raw, same ? `${file.name}, a certificate of this study,` : file.name, same);
  }

  const file = h("input", {
    type: "file",
    accept: ".json,application/json",
    class: "unseen",
    id: "certificate-file",
    onchange: () => {
      if (file.files[0]) checkFile(file.files[0]);
      file.value = "";
    },
  });
  const drop = h(
    "label",
    {
      class: "drop",
      for: "certificate-file",
      ondragover: (e) => {
        e.preventDefault();
        drop.classList.add("over");
      },
      ondragleave: () => drop.classList.remove("over"),
      ondrop: (e) => {
        e.preventDefault();
        drop.classList.remove("over");
        if (e.dataTransfer.files[0]) checkFile(e.dataTransfer.files[0]);
      },
    },
    file,
    h(
      "span",
      {},
      "Drop another certificate here, or ",
      h("u", {}, "choose a file"),
      ", to check it",
    ),
  );
  const verify = h(
    "button",
    {
      type: "button",
      class: "primary",
      onclick: () => check(text, "this certificate", true, verify),
    },
    "Verify in place",
  );

  main.append(
    h(
      "div",
      { class: "cert-page" },
      h(
        "div",
        { class: "cert-actions no-print" },
        verify,
        h(
          "button",
          { type: "button", onclick: () => save(`${study.name}-certificate.json`, text) },
          "Download certificate",
        ),
        h(
          "a",
          {
            class: "button",
            href: address(`studies/${id}/report`),
            target: "_blank",
            rel: "noopener",
          },
          "Report",
        ),
        h(
          "a",
          {
            class: "button",
            href: address(`studies/${id}/export`),
            download: `${study.name}.jsonl`,
          },
          "Export the events",
        ),
      ),
      stale,
      result,
      body,
      h(
        "section",
        { class: "verify no-print", "aria-labelledby": "other" },
        h("h2", { id: "other" }, "Check another certificate"),
        h(
          "p",
          { class: "lead" },
          "The verifier shares no code with the engine. Nothing is stored. A " +
            "certificate of this study is compared with its events as well.",
        ),
        drop,
      ),
    ),
  );
  await load();
  watch(
    id,
    (change) => {
      if (change.gone) {
        deleted(main);
        return;
      }
      stale.hidden = false;
      replace(
        stale,
        "The study went on since this was made. ",
        h(
          "button",
          {
            type: "button",
            class: "small",
            onclick: () => {
              replace(result);
              load().catch((e) => toast(e.detail ?? String(e), "bad"));
            },
          },
          "Make it anew",
        ),
      );
    },
    { after: certificate.log.events, signal },
  );
}
