import { useId, useState } from "preact/hooks";
import { wordsOf } from "../api.ts";
import type { MintedToken } from "../api-shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { useSurroundings } from "../session.ts";

interface CreateTokenProps {
  readonly onMinted: (minted: MintedToken) => void;
  readonly onClose: () => void;
}

const scopes = [
  { scope: "plants:create", words: "Send plants. What a program needs that creates them." },
  { scope: "operator", words: "Use this console and its API: see, search, export, manage tokens." },
] as const;
const lifetimes = [
  { value: "", words: "For good, until revoked" },
  { value: "1d", words: "One day" },
  { value: "30d", words: "30 days" },
  { value: "90d", words: "90 days" },
  { value: "365d", words: "One year" },
] as const;

export function CreateToken({ onMinted, onClose }: CreateTokenProps) {
  const { api } = useSurroundings();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>(["plants:create"]);
  const [expiresIn, setExpiresIn] = useState("");
  const [problem, setProblem] = useState<{ readonly at: "name" | "scopes"; readonly words: string }>();
  const [busy, setBusy] = useState(false);
  const lifetimeId = useId();
  const create = async (): Promise<void> => {
    if (chosen.length === 0) return setProblem({ at: "scopes", words: "Choose at least one." });
    setBusy(true);
    try {
      const request = { name, scopes: chosen, ...(expiresIn === "" ? {} : { expiresIn }) };
      onMinted(await api.post<MintedToken>("/api/tokens", request));
    } catch (reason) {
      setProblem({ at: "name", words: wordsOf(reason) });
      setBusy(false);
    }
  };
  return (
    <Dialog title="Create a token" onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Field
          label="Name"
          name="name"
          autocomplete="off"
          hint="Who will hold it, such as “greenhouse”. Its plants remember this name."
          value={name}
          problem={problem?.at === "name" ? problem.words : undefined}
          onInput={(event) => {
            setName(event.currentTarget.value);
            setProblem(undefined);
          }}
        />
        <fieldset>
          <legend>Scopes</legend>
          {scopes.map(({ scope, words }) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(event) => {
                  setProblem(undefined);
                  const others = chosen.filter((other) => other !== scope);
                  setChosen(event.currentTarget.checked ? [...others, scope] : others);
                }}
              />
              <span>
                <strong>{scope}</strong>
                <span class="hint">{words}</span>
              </span>
            </label>
          ))}
          {problem?.at === "scopes" && (
            <p class="problem" role="alert">
              {problem.words}
            </p>
          )}
        </fieldset>
        <div class="field">
          <label for={lifetimeId}>Lives</label>
          <select
            id={lifetimeId}
            value={expiresIn}
            onChange={(event) => setExpiresIn(event.currentTarget.value)}
          >
            {lifetimes.map(({ value, words }) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </div>
        <footer class="dialog-foot">
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={busy}>
            Create the token
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
