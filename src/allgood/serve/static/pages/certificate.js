// The verdict of a study with all that it rests on: read it, save it, check it here.
import { address, get, post, sentenceOf, vocabulary } from "../lib/api.js";
import { announce, save } from "../lib/browser.js";
import { toast } from "../lib/dialog.js";
import { count, fixed, list, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { Rows } from "../lib/rows.js";
import { StudyPage, armPath } from "../lib/study.js";
import { useEffect, useRef, useState } from "../lib/view.js";
import { Badge, DropZone, ErrorLine, Loading, Mark, Notice } from "../lib/widgets.js";

const LABELS = ["good", "bad", "open"];
const FEW = 60; // names of one label that are shown at once

/** The answer as text, byte for byte: digests are of the text, and JavaScript writes 1.0 as 1. */
async function getText(path, signal) {
  const options = { signal, credentials: "same-origin", cache: "no-store" };
  const response = await fetch(address(path), /** @type {RequestInit} */ (options));
  if (!response.ok) await get(path, { signal }); // throws a sentence that says what is wrong
  return response.text();
}

/** Makes the certificate of a study, once and on request: {made, error, make}. */
function useCertificate(id) {
  const [state, setState] = useState({ made: null, error: null });
  const controller = useRef();
  const make = async () => {
    controller.current?.abort();
    const { signal } = (controller.current = new AbortController());
    try {
      const text = await getText(`studies/${id}/certificate`, signal);
      setState({ made: { text, certificate: JSON.parse(text) }, error: null });
    } catch (error) {
      if (!signal.aborted) setState((old) => ({ ...old, error }));
    }
  };
  useEffect(() => {
    make();
    return () => controller.current?.abort();
  }, [id]);
  return { ...state, make };
}

/** The arms of one label, each a link. */
function Names({ arms, label, id }) {
  const [all, setAll] = useState(false);
  if (!arms.length) return null;
  const shown = all ? arms : arms.slice(0, FEW);
  return html`
    <section class="label-group">
      <h3><${Badge} label=${label}>${count(arms.length)} ${label}<//></h3>
      <ul class="names ${label}">
        ${shown.map((arm) => html`<li key=${arm}><a href=${armPath(id, arm)}>${arm}</a></li>`)}
      </ul>
      ${shown.length < arms.length && html`
        <button type="button" class="plain small" onclick=${() => setAll(true)}>
          Show ${count(arms.length - FEW)} more
        </button>`}
    </section>`;
}

function Digest({ sha256 }) {
  const hash = useRef();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(sha256);
      toast("The digest is in the clipboard.");
    } catch {
      getSelection().selectAllChildren(hash.current);
      toast("The digest is marked: copy it with the keyboard.");
    }
  };
  return html`
    <code class="hash" ref=${hash}>${sha256}</code>${" "}
    <button type="button" class="small" aria-label="Copy the digest" onclick=${copy}>Copy</button>
    <span class="hint">
      The same as the sha256sum of the exported events: whoever has both can see that nothing was
      changed.
    </span>`;
}

/** What the certificate says, in words; those of outcome and guarantee are the status's. */
function Words({ status, certificate }) {
  const { log, values, versions, question } = certificate;
  const special = ["suspect", "confirmed", "waiting"]
    .filter((kind) => values[kind]?.length)
    .map((kind) => `${count(values[kind].length)} ${vocabulary.states[kind]?.word ?? kind}`);
  const item = (name, content) => content && html`<div><dt>${name}</dt><dd>${content}</dd></div>`;
  return html`
    <dl class="cert-facts">
      ${item("The question", status.question)}
      ${item("The guarantee", status.guarantee || status.warnings.join(" "))}
      ${item("The log", `${plural(log.measurements, "measurement")} in ${plural(log.events, "event")}. ${special.length ? `Values: ${list(special)}.` : ""}`)}
      ${item("Left the question", question.withdrawn?.length ? list(question.withdrawn, 12) : "")}
      ${item("SHA-256 of the log", html`<${Digest} sha256=${log.sha256} />`)}
      ${item("Made by", `allgood ${versions.allgood}, rules ${versions.rules}`)}
    </dl>`;
}

function Claims({ claims, id }) {
  const against = ({ arm, rests_on: rivals }) =>
    list(
      rivals.map((rival) => (rival.against === arm ? "zero" : (rival.against ?? "the pool"))),
      3,
    );
  const row = (i) => {
    const claim = claims[i];
    return [
      html`<a href=${armPath(id, claim.arm)}>${claim.arm}</a>`,
      html`<${Badge} label=${claim.label} />`,
      { class: "number", content: plural(claim.after, "measurement") },
      { class: "number", content: fixed(claim.evidence, 2) },
      { class: "number", content: fixed(claim.need, 2) },
      claim.rests_on.length ? against(claim) : "no rival left",
    ];
  };
  return html`
    <section class="claims-section" aria-labelledby="cert-claims">
      <h2 id="cert-claims">What each label rests on</h2>
      <p class="lead">
        A label is certified when its evidence reaches what it needs. The certificate holds the counts
        and sums of that moment, so that anybody can compute it again.
      </p>
      ${
        claims.length
          ? html`
              <${Rows} label="Claims in the order of certification" kind="claims" wide=${38} narrow=${70}
                columns=${["Arm", "Label", "Certified after", "Evidence", "Need", "Against"]}
                count=${claims.length} row=${row} keyOf=${(i) => claims[i].arm} />`
          : html`<p class="empty">No label is certified yet.</p>`
      }
    </section>`;
}

const TONES = { verified: "good", "not verified": "bad", "verified, doubtful": "bad" };

/** What the verifier found; `name` says of what. */
function Found({ found, name }) {
  if (!found) return null;
  const { status, verdict, problems, doubts, remark } = found;
  const shown = [...problems, ...doubts].slice(0, 50);
  return html`
    <${Notice} tone=${TONES[status] ?? ""} alert=${!found.ok} title=${name}>
      <p>${verdict} ${remark}</p>
      ${shown.length > 0 && html`<ul>${shown.map((sentence) => html`<li>${sentence}</li>`)}</ul>`}
      ${problems.length > 50 && html`<p>And ${count(problems.length - 50)} more.</p>`}
    <//>`;
}

/** Checks certificates on the server: {found, name, error, busy, check(text, name, ofStudy)}. */
function useVerifier(id) {
  const [state, setState] = useState({ found: null, name: "", error: null, busy: false });
  const check = async (text, name, ofStudy) => {
    setState({ found: null, name, error: null, busy: true });
    try {
      const body = `{"certificate":${text},"study":${ofStudy ? Number(id) : null}}`;
      const found = await post("verify", body, { type: "application/json" });
      setState({ found, name, error: null, busy: false });
      announce(found.verdict);
    } catch (error) {
      setState({ found: null, name, error, busy: false });
    }
  };
  const refuse = (sentence) => setState({ found: null, name: "", error: sentence, busy: false });
  return { ...state, check, refuse };
}

function Actions({ id, status, made, verifier }) {
  return html`
    <div class="cert-actions no-print">
      <button type="button" class="primary" disabled=${verifier.busy}
          onclick=${() => verifier.check(made.text, "This certificate", true)}>Verify in place</button>
      <button type="button" onclick=${() => save(`${status.name}-certificate.json`, made.text)}>
        Download certificate
      </button>
      <a class="button" href=${address(`studies/${id}/report`)} target="_blank" rel="noopener">Report</a>
      <a class="button" href=${address(`studies/${id}/export`)} download="${status.name}.jsonl">
        Export the events
      </a>
    </div>`;
}

function OtherCertificate({ uid, verifier }) {
  const checkFile = async (file) => {
    const text = await file.text();
    let other;
    try {
      other = JSON.parse(text);
    } catch {
      verifier.refuse(`${file.name} is not a certificate: it is not JSON.`);
      return;
    }
    const same = other?.study?.uid === uid;
    await verifier.check(text, same ? `${file.name}, a certificate of this study` : file.name, same);
  };
  return html`
    <section class="verify no-print" aria-labelledby="other">
      <h2 id="other">Check another certificate</h2>
      <p class="lead">
        The verifier shares no code with the engine. Nothing is stored. A certificate of this study is
        compared with its events as well.
      </p>
      <${DropZone} hint="Drop another certificate here" accept=".json,application/json"
        onFile=${(file) => file && checkFile(file)} />
    </section>`;
}

function Certificate({ id, status }) {
  const { made, error, make } = useCertificate(id);
  const verifier = useVerifier(id);
  if (!made) return error ? html`<${ErrorLine} error=${sentenceOf(error)} />` : html`<${Loading} />`;
  const { certificate } = made;
  const armsOf = (label) =>
    certificate.arms.filter((arm) => arm.label === label).map((arm) => arm.arm);
  const stale = certificate.log.events !== status.events;
  return html`
    <div class="cert-page">
      <${Actions} id=${id} status=${status} made=${made} verifier=${verifier} />
      ${stale && html`
        <p class="notice">
          The study went on since this was made.${" "}
          <button type="button" class="small" onclick=${make}>Make it anew</button>
        </p>`}
      ${error && html`<${ErrorLine} error=${sentenceOf(error)} />`}
      <div class="verify-result">
        ${verifier.busy && html`<p class="soft" role="status">Checking ${verifier.name} …</p>`}
        ${verifier.error && html`<${Notice} tone="bad" alert><p>${sentenceOf(verifier.error)}</p><//>`}
        <${Found} found=${verifier.found} name=${verifier.name} />
      </div>
      <div class="cert-top">
        <div class="seal">
          ${LABELS.map((label) => html`
            <span class=${label}><${Mark} label=${label} size=${16} /><b>${count(armsOf(label).length)}</b>${label}</span>`)}
        </div>
        <p class="verdict">${vocabulary.outcomes[certificate.outcome].sentence}</p>
      </div>
      ${certificate.doubts && html`
        <${Notice} tone="bad" title=${vocabulary.misfit}>
          ${status.checks.sentences.map((sentence) => html`<p>${sentence}</p>`)}
        <//>`}
      <div class="cert-grid">
        <section class="card" aria-labelledby="cert-words">
          <h2 id="cert-words">What it says</h2>
          <${Words} status=${status} certificate=${certificate} />
        </section>
        <section class="card" aria-labelledby="cert-arms">
          <h2 id="cert-arms">Arms</h2>
          ${LABELS.map((label) => html`<${Names} key=${label} label=${label} arms=${armsOf(label)} id=${id} />`)}
        </section>
      </div>
      <${Claims} claims=${certificate.claims} id=${id} />
      <${OtherCertificate} uid=${certificate.study.uid} verifier=${verifier} />
    </div>`;
}

export default function CertificatePage({ id }) {
  return html`
    <${StudyPage} id=${id} page="certificate" title="Certificate"
      load=${(signal) => get(`studies/${id}/status?arms=none`, { signal })}
      draw=${(status) => html`<${Certificate} id=${id} status=${status} />`} />`;
}
