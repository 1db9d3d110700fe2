// Asks for a token, when the server wants one.
import { post } from "../api.js";
import { field, h } from "../dom.js";

export async function show(main) {
  const token = h("input", {
    id: "token",
    name: "token",
    type: "password",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
    autocapitalize: "off",
  });
  const error = h("p", { class: "error", role: "alert" });
  const button = h("button", { class: "primary" }, "Log in");
  async function login(event) {
    event.preventDefault();
    button.disabled = true;
    error.textContent = "";
    try {
      await post("session", { token: token.value.trim() });
      window.dispatchEvent(new Event("allgood:login"));
    } catch (problem) {
      error.textContent =
        problem.status === 401
          ? "This token is not known here. Check that it was copied whole."
          : (problem.detail ?? String(problem));
      button.disabled = false;
      token.select();
    }
  }
  main.append(
    h(
      "div",
      { class: "login" },
      h("h1", {}, "Log in"),
      h(
        "p",
        {},
        "This server asks who may look at its studies. Whoever started it has a token for you.",
      ),
      h(
        "form",
        { onsubmit: login },
        field("Token", token),
        error,
        button,
      ),
      h(
        "p",
        { class: "hint" },
        "A token lets you read, measure or manage. This browser does not keep it: it stays logged " +
          "in until it is closed, you log out, or it is not used for 12 hours.",
      ),
    ),
  );
  token.focus();
}
