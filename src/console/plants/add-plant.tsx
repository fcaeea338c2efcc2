import { useLayoutEffect, useState } from "preact/hooks";
import { idJson } from "../../files/id-json.ts";
import { jsonHeaders } from "../api.ts";
import { useConsole } from "../console.ts";
import { Button, Field, type InputChange } from "../parts/controls.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icons.tsx";

const positiveBits = 63;

/** Opens the dialog for a new plant, if the token may create one. */
export function AddPlantButton() {
  const { session } = useConsole();
  const [isAdding, setIsAdding] = useState(false);
  if (!session.may("plants:create")) return null;
  return (
    <>
      <Button class="primary" onClick={() => setIsAdding(true)}>
        <Icon name="plus" /> Add a plant
      </Button>
      {isAdding && <AddPlant onClose={() => setIsAdding(false)} />}
    </>
  );
}

/** The dialog for a new plant, which is created through the public API. An error names the field that it is about. */
function AddPlant({ onClose }: { readonly onClose: () => void }) {
  const { api } = useConsole();
  const [plant, setPlant] = useState({ id: "", name: "", tag: "" });
  const [stored, setStored] = useState<string>();
  useLayoutEffect(() => {
    if (stored !== undefined && plant.id === "") document.querySelector<HTMLElement>("dialog input")?.focus();
  }, [stored]);
  const send = async (): Promise<void> => {
    setStored(undefined);
    const id = plant.id.trim();
    // No plant can be changed later, and an empty name is most likely a mistake.
    if (id !== "" && plant.name === "") throw new Error('Field "name" is empty.');
    const body = newPlantBody(id, plant.name, plant.tag === "" ? undefined : plant.tag);
    const response = await api.fetch("/plants", { method: "POST", headers: jsonHeaders, body });
    const isReplayed = response.headers.get("Idempotent-Replayed") === "true";
    setStored(isReplayed ? "This plant is already stored." : "The plant is stored.");
    // What was typed meanwhile is the next plant.
    setPlant((typed) => (typed === plant ? { id: "", name: "", tag: plant.tag } : typed));
  };
  const field = (name: keyof typeof plant) => ({
    name,
    value: plant[name],
    onInput: ({ currentTarget: { value } }: InputChange) =>
      setPlant((typed) => ({ ...typed, [name]: value })),
  });
  return (
    <FormDialog title="Add a plant" submit="Add plant" cancel="Close" onSubmit={send} onClose={onClose}>
      <Field
        {...field("id")}
        label="Id"
        inputMode="numeric"
        hint="An integer of your choice, from −2⁶³ to 2⁶³−1."
        after={<Button onClick={() => setPlant((typed) => ({ ...typed, id: randomId() }))}>Generate</Button>}
      />
      <Field {...field("name")} label="Name" />
      <Field {...field("tag")} label="Tag" optional hint="The type of the plant, such as “indoor”." />
      <div role="status">{stored !== undefined && <p class="success">{stored}</p>}</div>
    </FormDialog>
  );
}

/**
 * The body of POST /plants. The digits of the id are used as typed, because a JavaScript number would round an id beyond
 * 2^53.
 */
export function newPlantBody(id: string, name: string, tag: string | undefined): string {
  const members = [`"name": ${JSON.stringify(name)}`];
  if (id !== "") members.unshift(`"id": ${idJson(id)}`);
  if (tag !== undefined) members.push(`"tag": ${JSON.stringify(tag)}`);
  return `{${members.join(", ")}}`;
}

/** A random positive int64. */
function randomId(): string {
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return String(BigInt.asUintN(positiveBits, random));
}
