import { useState } from "preact/hooks";
import { ApiError, errorMessage } from "../api.ts";
import { errorNumbers } from "../error-numbers.ts";
import { Button, Field, type InputChange } from "../parts/controls.tsx";
import { FormDialog, focusField } from "../parts/dialog.tsx";
import { useSession } from "../session.ts";
import { newPlantBody, randomId } from "./new-plant-body.ts";

type FieldName = "id" | "name" | "tag";
type FieldErrors = Partial<Record<FieldName | "form", string | undefined>>;

/** The dialog for a new plant, which is created through the public API. */
export function AddPlant({ onClose }: { readonly onClose: () => void }) {
  const { api } = useSession();
  const [plant, setPlant] = useState({ id: "", name: "", tag: "" });
  const [errors, setErrors] = useState<FieldErrors>({});
  const [stored, setStored] = useState<string>();
  const [busy, setBusy] = useState(false);

  const send = async (): Promise<void> => {
    setBusy(true);
    setStored(undefined);
    try {
      // No plant can be changed later, and an empty name is most likely a mistake.
      if (plant.id.trim() !== "" && plant.name === "") throw new ApiError('Field "name" is empty.');
      const id = plant.id.trim();
      const body = newPlantBody(id, plant.name, plant.tag === "" ? undefined : plant.tag);
      const headers = { "Content-Type": "application/json" };
      const response = await api.fetch("/plants", { method: "POST", headers, body });
      const replayed = response.headers.get("Idempotent-Replayed") === "true";
      setStored(replayed ? "This plant is already stored." : "The plant is stored.");
      setErrors({});
      setPlant({ id: "", name: "", tag: plant.tag });
      focusField("id");
    } catch (reason) {
      const found = fieldErrors(reason);
      setErrors(found);
      const first = (["id", "name", "tag"] as const).find((name) => found[name] !== undefined);
      if (first !== undefined) focusField(first);
    } finally {
      setBusy(false);
    }
  };
  const field = (name: FieldName) => ({
    name,
    value: plant[name],
    error: errors[name],
    onInput: (event: InputChange) => {
      setPlant({ ...plant, [name]: event.currentTarget.value });
      setErrors({ ...errors, [name]: undefined });
    },
  });
  return (
    <FormDialog
      title="Add a plant"
      submit="Add plant"
      cancel="Close"
      busy={busy}
      error={errors.form}
      onSubmit={send}
      onClose={onClose}
    >
      <Field
        {...field("id")}
        label="Id"
        inputMode="numeric"
        hint="An integer of your choice, from −2⁶³ to 2⁶³−1."
        after={
          <Button
            onClick={() => {
              setPlant({ ...plant, id: randomId() });
              setErrors({ ...errors, id: undefined });
            }}
          >
            Generate
          </Button>
        }
      />
      <Field {...field("name")} label="Name" />
      <Field {...field("tag")} label="Tag" optional hint="The type of the plant, such as “indoor”." />
      <div role="status">{stored !== undefined && <p class="success">{stored}</p>}</div>
    </FormDialog>
  );
}

/** Assigns each sentence of the error message to the field that it names. */
function fieldErrors(reason: unknown): FieldErrors {
  if (!(reason instanceof ApiError)) return { form: errorMessage(reason) };
  const errors: FieldErrors = {};
  let field: keyof FieldErrors = reason.error === errorNumbers["id-conflict"] ? "id" : "form";
  for (const sentence of reason.message.split(/(?<=\.) (?=[A-Z])/)) {
    // A sentence that names no field belongs to the previous one.
    field = (/^Field "(id|name|tag)"/.exec(sentence)?.[1] as FieldName | undefined) ?? field;
    errors[field] = [errors[field], sentence].filter(Boolean).join(" ");
  }
  return errors;
}
