// Ask what to measure, and tell what came out: tickets, plates, and the sheet that is told.
import { client, failTickets, setClient, withdrawValues } from "../lib/actions.js";
import { address, get, may, post, session, vocabulary } from "../lib/api.js";
import { stored, useKept } from "../lib/browser.js";
import { toast } from "../lib/dialog.js";
import { count, duration, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { PlateFindings, PlateMap, Views, withResiduals } from "../lib/plate.js";
import { SheetCard, useSheet } from "../lib/sheet.js";
import { StudyPage, armPath } from "../lib/study.js";
import { useEffect, useMemo, useRef, useState } from "../lib/view.js";
import { Check, Choice, ErrorLine, Notice, Segments, Since, TextField } from "../lib/widgets.js";

const LEASES = [
  ...[["", "No limit"], ["3600", "1 hour"], ["28800", "8 hours"], ["86400", "1 day"]],
  ...[["259200", "3 days"], ["604800", "1 week"]],
];
const LINES = 8; // plates in the list at first

// ---- ask

const MODES = [["plate", "A plate"], ["n", "Measurements"]];
const ASK = {
  ...{ mode: "plate", n: "8", size: "96", rows: "4", columns: "6", controls: "", inside: false },
  ...{ max_per_arm: "", lease: "" },
};

function askBody(form, takesTime) {
  const body = client() ? { client: client() } : {};
  if (form.lease && !takesTime) body.lease = Number(form.lease);
  if (form.mode !== "plate") return { ...body, n: Number(form.n) };
  const { rows, columns } = vocabulary.plates?.[form.size] ?? form;
  const limit = form.max_per_arm ? { max_per_arm: Number(form.max_per_arm) } : {};
  const size = { rows: Number(rows), columns: Number(columns) };
  return { ...body, plate: { ...size, controls: form.controls, edge: !form.inside, ...limit } };
}

function Who() {
  const [name, setName] = useState(client() ?? "");
  const [asked, setAsked] = useState(!client());
  if (session.needs_token) return null; // the token says who it is
  if (!asked)
    return html`
      <p class="small">
        You are <b>${name}</b>.
        <button type="button" class="plain small" onclick=${() => setAsked(true)}>Change</button>
      </p>`;
  const type = (text) => {
    setName(text);
    setClient(text);
  };
  return html`
    <${TextField} label="Client" value=${name} onText=${type} maxlength="200" name="client"
      placeholder="for example your name, or robot" onblur=${() => setAsked(!name.trim())}
      hint="Who measures; it is kept. Asking again under the same name gives the same open tickets back." />`;
}

const CONTROLS =
  "One a line: a name, and a number of wells, spread anew over each plate, or the wells: " +
  "A1 H12, A23:P24, column 1.";

function PlateFields({ form, set, fields }) {
  const sizes = Object.entries(vocabulary.plates ?? {});
  const words = sizes.map(([n, { rows, columns }]) => [n, `${n} wells: ${rows} × ${columns}`]);
  const number = (name, label, most) => html`
    <input type="number" min="1" max=${most} value=${form[name]} aria-label=${label}
      oninput=${(event) => set({ [name]: event.target.value })} />`;
  return html`
    <${Choice} label="Plate" value=${form.size} onChoice=${(size) => set({ size })}
      options=${[...words, ["own", "Another size"]]} />
    ${form.size === "own" && html`
      <div class="own">
        ${number("rows", "Rows", 64)}<span>rows ×</span>
        ${number("columns", "Columns", 96)}<span>columns</span>
      </div>`}
    <${TextField} label="Controls" rows="2" spellcheck="false" placeholder="DMSO 8" value=${form.controls}
      error=${fields.controls} onText=${(controls) => set({ controls })}
      hint=${CONTROLS} />
    <${TextField} label="Wells of one arm, at most" type="number" min="1" value=${form.max_per_arm}
      placeholder="by the server" error=${fields.max_per_arm}
      onText=${(text) => set({ max_per_arm: text })} />
    <${Check} checked=${form.inside} onCheck=${(inside) => set({ inside })}>
      Leave the outermost wells empty
    <//>`;
}

function Asked({ answer: { tickets, outcome, isPlate } }) {
  if (!tickets.length) {
    const running = "There is nothing to ask for now. Tell the values that are open first.";
    const ended = vocabulary.outcomes?.[outcome]?.sentence;
    return html`<p class="notice">${outcome === "running" ? running : ended}</p>`;
  }
  const [{ batch, client: who }] = tickets;
  const arms = new Set(tickets.map((ticket) => ticket.arm)).size;
  const old = tickets.filter((ticket) => Date.now() / 1000 - ticket.time > 60).length;
  const part = old === tickets.length ? "All" : count(old);
  const where = `${isPlate ? ` on plate ${batch}` : ""}${who ? `, for ${who}` : ""}`;
  return html`
    <p class="notice good">
      ${plural(tickets.length, "measurement")} of ${plural(arms, "arm")}${where}.
      ${old > 0 && ` ${part} of them were open already.`}
      ${isPlate ? " The map is below." : " They are listed below."}
    </p>`;
}

function AskCard({ id, data, onAsked, onPlanned }) {
  const [form, setForm] = useKept("ask", { ...ASK, ...stored.get("ask") });
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const set = (part) => setForm((old) => ({ ...old, ...part }));
  const isPlate = form.mode === "plate";
  const run = async (path, then) => {
    setBusy(true);
    setProblem(null);
    stored.set("ask", form);
    try {
      then(await post(`studies/${id}/${path}`, askBody(form, data.takes_time)));
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const ask = (event) => {
    event.preventDefault();
    run("ask", (asked) => {
      setAnswer({ ...asked, isPlate });
      onAsked(asked, isPlate);
    });
  };
  const fields = problem?.fields ?? {};
  const atField = ["controls", "max_per_arm", "n"].some((name) => name in fields);
  return html`
    <section class="card" aria-labelledby="ask-title">
      <h2 id="ask-title">Ask what to measure</h2>
      <form class="stack" onsubmit=${ask}>
        <${Segments} label="What to ask for" name="mode" value=${form.mode} options=${MODES}
          onChoice=${(mode) => set({ mode })} />
        ${isPlate
          ? html`<${PlateFields} key="plate" form=${form} set=${set} fields=${fields} />`
          : html`
              <${TextField} key="n" label="How many" type="number" min="1" required value=${form.n}
                error=${fields.n} onText=${(n) => set({ n })} />`}
        <${Who} />
        ${!data.takes_time && html`
          <${Choice} label="Time to measure" value=${form.lease} options=${LEASES}
            onChoice=${(lease) => set({ lease })}
            hint="Afterwards the tickets are offered to others. A late value still counts." />`}
        <${ErrorLine} error=${atField ? null : problem} />
        <div class="row">
          <button class="primary" disabled=${busy}>${isPlate ? "Ask for a plate" : "Ask"}</button>
          ${isPlate && html`
            <button type="button" disabled=${busy} onclick=${() => run("ask/preview", onPlanned)}>
              Show the layout first
            </button>`}
        </div>
        <div class="ask-result" aria-live="polite">${answer && html`<${Asked} answer=${answer} />`}</div>
      </form>
    </section>`;
}

// ---- plates

function PlateLine({ id, plate, chosen, onOpen, sheet }) {
  const { batch, open, told, failed, withdrawn, rejected } = plate;
  const total = open + told + failed + withdrawn;
  const standing = [
    open ? `${count(open)} of ${count(total)} open` : `${count(told)} told`,
    withdrawn > 0 && `${count(withdrawn)} withdrawn`,
    plate.client,
  ];
  return html`
    <li class=${chosen ? "chosen" : ""} data-batch=${batch}>
      <button type="button" class="plain plate-name" aria-expanded=${chosen ? "true" : "false"}
        onclick=${() => onOpen(batch)}>Plate ${batch}</button>
      <span class="progress" role="img" aria-label="${told} of ${total} told"
        style=${{ "--part": total ? told / total : 0 }}><i /></span>
      <span class="soft small">
        ${standing.filter(Boolean).join(", ")} · <${Since} time=${plate.time} />
        ${rejected && html`<br />${rejected}`}
      </span>
      <span class="row">
        ${open > 0 && may("measure") && html`
          <button type="button" class="small" aria-label="Tell its grid: plate ${batch}"
            title="The next sheet is the grid of this plate"
            onclick=${() => sheet.start({ kind: "values", grid: String(batch) })}>
            Tell its grid
          </button>
          <button type="button" class="small" aria-label="Lost: plate ${batch}"
            onclick=${() => failTickets(id, { batch }, `plate ${batch}`, open)}>Lost …</button>`}
      </span>
    </li>`;
}

function PlateList({ id, plates, chosen, onOpen, sheet }) {
  const [all, setAll] = useState(false);
  const [focused, setFocused] = useState(null); // its line stays, however many others come
  const lines = [...plates.filter((plate) => plate.open), ...plates.filter((plate) => !plate.open)];
  const shown = lines.filter((plate, i) => all || i < LINES || plate.batch === focused);
  const focus = (event) => setFocused(Number(event.target.closest("[data-batch]")?.dataset.batch) || null);
  if (!plates.length) return html`<p class="soft">No plate was asked for yet.</p>`;
  return html`
    <div class="plate-list" onfocusin=${focus}>
      <ul>
        ${shown.map((plate) => html`
          <${PlateLine} key=${plate.batch} id=${id} plate=${plate} chosen=${plate.batch === chosen}
            onOpen=${onOpen} sheet=${sheet} />`)}
      </ul>
      ${lines.length > LINES && html`
        <button type="button" class="plain" aria-expanded=${all ? "true" : "false"}
          onclick=${() => setAll(!all)}>
          ${all ? "Fewer plates" : plural(lines.length - LINES, "older plate")}
        </button>`}
    </div>`;
}

const sheetLink = (id, batch, format) =>
  address(`studies/${id}/sheet?${batch ? `batch=${batch}` : "singles=true"}&format=${format}`);
const SheetLinks = ({ id, batch = null }) =>
  [["csv", "CSV"], ["xlsx", "Excel"]].map(([format, words]) => html`
    <a key=${format} class="button small" href=${sheetLink(id, batch, format)} download="">${words}</a>`);

// The plate that was asked for, once it is there; the box takes the focus when somebody opens it.
function PlateBox({ id, study, plate, sheet, close, wanted }) {
  const [show, setShow] = useKept("plate-view", "arm");
  const [chosen, setChosen] = useState(null); // wells to withdraw; null: none can be chosen
  const box = useRef();
  const { batch } = plate;
  useEffect(() => {
    setChosen(null);
    if (wanted.current !== batch) return;
    wanted.current = null;
    box.current.scrollIntoView({ block: "start" });
    box.current.focus({ preventScroll: true });
  }, [batch]);
  const full = useMemo(() => withResiduals(plate), [plate]);
  const values = plate.wells.filter((well) => well.value !== null).length;
  const isOpen = plate.wells.some((well) => well.arm && well.state === "open");
  const views = ["arm", "value", ...(plate.check ? ["residual"] : []), "ticket"];
  const toggle = (well) =>
    setChosen((old) => (old.includes(well) ? old.filter((other) => other !== well) : [...old, well]));
  const withdraw = async (wells) => {
    const what = wells ? { batch, wells } : { batch };
    const title = wells ? `${plural(wells.length, "well")} of plate ${batch}` : `plate ${batch}`;
    if (await withdrawValues(id, what, title)) setChosen(null);
  };
  const button = (words, run, more = {}) => html`
    <button type="button" class="small" key=${words} onclick=${run} ...${more}>${words}</button>`;
  return html`
    <div class="map-box" tabindex="-1" ref=${box}>
      <div class="map-bar no-print">
        <h3>Plate ${batch}</h3>
        <${Views} views=${views} show=${show} setShow=${setShow} />
        <span class="row">
          ${isOpen && html`<${SheetLinks} id=${id} batch=${batch} />`}
          ${values > 0 && may("manage") && [
            button("Replace …", () => sheet.start({ kind: "replace", grid: String(batch) })),
            button("Withdraw …", () => withdraw(chosen?.length ? chosen : null)),
            button(
              chosen ? `${plural(chosen.length, "well")} chosen` : "Choose wells",
              () => setChosen(chosen ? null : []),
              { key: "choose", "aria-pressed": chosen ? "true" : "false" },
            ),
          ]}
          ${button("Print", () => print())}
          <button type="button" class="plain small" onclick=${close}>Close</button>
        </span>
      </div>
      ${plate.check && html`<${PlateFindings} check=${plate.check} />`}
      <${PlateMap} plate=${full} title="plate ${batch}" id=${id} study=${study} chosen=${chosen ?? []}
        show=${views.includes(show) ? show : "arm"} onWell=${chosen && toggle} />
    </div>`;
}

// The layout that the server would choose now: no ticket exists yet.
function Planned({ id, study, planned, close }) {
  const box = useRef();
  useEffect(() => {
    box.current.scrollIntoView({ block: "start" });
  }, [planned]);
  const { batch, again, measurements, copies, max_per_arm: most } = planned;
  const plate = { ...planned, wells: measurements.map((part) => ({ ...part, state: "open", value: null })) };
  const [[arm, n] = ["", 0]] = Object.entries(copies);
  const told = again
    ? "These tickets exist already and are open."
    : "Nothing is stored, and no ticket exists yet.";
  return html`
    <div class="map-box" ref=${box}>
      <div class="map-bar no-print">
        <h3>Layout of plate ${batch}</h3>
        <button type="button" class="plain small" onclick=${close}>Close</button>
      </div>
      <p class="soft">
        ${told} ${plural(Object.keys(copies).length, "arm")}, at most ${plural(most, "well")} each;
        ${" "}${arm} has the most: ${count(n)}.
      </p>
      <${PlateMap} plate=${plate} title="the planned plate ${batch}" id=${id} study=${study} show="arm" />
    </div>`;
}

// ---- tickets without a plate: a short list can be filled in here

function TicketRow({ id, ticket, byHand, value, onText, onEnter }) {
  const now = Date.now() / 1000;
  const { lease_until: until } = ticket;
  const left = until && (until < now ? `${duration(now - until)} late` : `${duration(until - now)} left`);
  return html`
    <tr>
      <td class="mono">${ticket.id}</td>
      <td><a href=${armPath(id, ticket.arm)}>${ticket.arm}</a></td>
      <td>${ticket.client}</td>
      <td class=${until && until < now ? "late" : "soft"}>
        ${left || html`<${Since} time=${ticket.time} />`}
      </td>
      ${byHand && html`
        <td>
          <input type="text" inputmode="decimal" class="value" autocomplete="off" value=${value}
            aria-label="Value of ${ticket.id}, ${ticket.arm}" oninput=${(event) => onText(event.target.value)}
            onkeydown=${onEnter} />
        </td>`}
    </tr>`;
}

function Tickets({ id, tickets, total, sheet }) {
  const [typed, setTyped] = useKept(`typed-${id}`, {});
  const box = useRef();
  const byHand = may("measure") && total <= tickets.length;
  const preview = () => {
    const filled = tickets.filter((ticket) => typed[ticket.id]?.trim());
    if (!filled.length) return toast("Type a value first.");
    const rows = filled.map(({ id: ticket }) => ({ ticket, value: typed[ticket] }));
    sheet.take({ rows, name: "Typed values" });
    return sheet.start({ kind: "values", grid: "" });
  };
  const enter = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const inputs = [...box.current.querySelectorAll("input.value")];
    (inputs[inputs.indexOf(event.target) + 1] ?? box.current.querySelector(".actions button")).focus();
  };
  return html`
    <div ref=${box} class="tickets-box">
      <div class="map-bar">
        <h3>${plural(total, "open ticket")} without a plate</h3>
        <span class="row"><${SheetLinks} id=${id} /></span>
      </div>
      <div class="scroll">
        <table class="data tickets">
          <thead>
            <tr>
              ${["Ticket", "Arm", "Client", "Time", ...(byHand ? ["Value"] : [])].map((words) => html`
                <th scope="col" key=${words}>${words}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${tickets.map((ticket) => html`
              <${TicketRow} key=${ticket.id} id=${id} ticket=${ticket} byHand=${byHand} onEnter=${enter}
                value=${typed[ticket.id] ?? ""}
                onText=${(text) => setTyped((old) => ({ ...old, [ticket.id]: text }))} />`)}
          </tbody>
        </table>
      </div>
      ${total > tickets.length && html`
        <p class="soft small">and ${count(total - tickets.length)} more in the sheet</p>`}
      ${byHand && html`
        <div class="actions">
          <button type="button" class="primary" onclick=${preview}>Preview what is typed</button>
        </div>`}
    </div>`;
}

// ---- the page

function Content({ id, data, plate, setPlate }) {
  const [planned, setPlanned] = useState(null);
  const wanted = useRef(null); // the plate that takes the focus when it is there
  const sheet = useSheet(id);
  const open = (batch) => {
    wanted.current = batch;
    setPlanned(null);
    setPlate(null); // so that the box of this very plate is opened anew
    setTimeout(() => setPlate(batch));
  };
  const asked = ({ tickets }, isPlate) => {
    if (tickets.length && isPlate) open(tickets[0].batch);
    else document.getElementById("open-title").scrollIntoView({ block: "nearest" });
  };
  const shown = data.plate?.batch === plate ? data.plate : null; // not that of an earlier question
  return html`
    <div class="measure-page">
      ${may("measure")
        ? html`
            <div class="measure-grid no-print">
              <${AskCard} id=${id} data=${data} onAsked=${asked} onPlanned=${setPlanned} />
              <${SheetCard} id=${id} sheet=${sheet} data=${data} />
            </div>`
        : html`<${Notice}><p>You may look here, and neither ask nor tell.</p><//>`}
      <section class="card open-card" aria-labelledby="open-title">
        <h2 id="open-title">Plates and open tickets</h2>
        <${PlateList} id=${id} plates=${data.plates} chosen=${shown?.batch} onOpen=${open} sheet=${sheet} />
        ${planned && html`
          <${Planned} key="planned" id=${id} study=${data.name} planned=${planned}
            close=${() => setPlanned(null)} />`}
        ${shown && html`
          <${PlateBox} key="plate" id=${id} study=${data.name} plate=${shown} sheet=${sheet} wanted=${wanted}
            close=${() => setPlate(null)} />`}
        ${data.num_tickets > 0 && html`
          <${Tickets} key="tickets" id=${id} tickets=${data.tickets} total=${data.num_tickets}
            sheet=${sheet} />`}
      </section>
    </div>`;
}

export default function Measure({ id, query }) {
  const [plate, setPlate] = useKept(`plate-${id}`, Number(query.get("plate")) || null);
  const load = (signal) => get(`studies/${id}/measure${plate ? `?plate=${plate}` : ""}`, { signal });
  return html`
    <${StudyPage} id=${id} page="measure" title="Measure" load=${load} inputs=${[plate]}
      draw=${(data) => html`<${Content} id=${id} data=${data} plate=${plate} setPlate=${setPlate} />`} />`;
}
