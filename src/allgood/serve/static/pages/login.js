// Asks for a token, when the server wants one.
import { post } from "../lib/api.js";
import { html } from "../lib/html.js";
import { useEffect, useRef, useState } from "../lib/view.js";
import { ErrorLine, TextField } from "../lib/widgets.js";

export default function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef();
  const input = () => form.current.elements.token;
  useEffect(() => input().focus(), []);
  const login = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await post("session", { token: token.trim() });
      window.dispatchEvent(new Event("allgood:login"));
    } catch (problem) {
      setError(problem);
      setBusy(false);
      input().select();
    }
  };
  return html`
    <div class="login">
      <h1>Log in</h1>
      <p>This server asks who may look at its studies. Whoever started it has a token for you.</p>
      <form ref=${form} onsubmit=${login}>
        <${TextField} label="Token" name="token" type="password" required value=${token}
          onText=${setToken} autocomplete="current-password" spellcheck="false" autocapitalize="off" />
        <${ErrorLine} error=${error} />
        <button class="primary" disabled=${busy}>Log in</button>
      </form>
      <p class="hint">
        A token lets you read, measure or manage. This browser does not keep it: it stays logged in
        until it is closed, you log out, or it is not used for 12 hours.
      </p>
    </div>`;
}
