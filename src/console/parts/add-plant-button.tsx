import { createScope, hasScope, useSession } from "../session.ts";
import { Icon } from "./icons.tsx";

/** Opens the dialog for a new plant, if the token may create one. */
export function AddPlantButton() {
  const { me, addPlant } = useSession();
  if (!hasScope(me, createScope)) return null;
  return (
    <button type="button" class="primary" onClick={addPlant}>
      <Icon name="plus" /> Add a plant
    </button>
  );
}
