// A program that was written for the client of 2.0.0 still compiles: `npm run check` says so. Each line fails if what it names is
// gone, takes less than it took, or gives something else.
import * as present from "../../src/client/plant-store-client.ts";
import type * as recorded from "../fixtures/2.0.0/client/plant-store-client.d.ts";

/** The public members of a class: two classes with private fields are never the same type. */
type Members<Class> = Pick<Class, keyof Class>;

export const exported: Record<keyof typeof recorded, unknown> = present;

// What a program passes to the client.

export const options = (given: recorded.ClientOptions): present.ClientOptions => given;
export const plant = (given: recorded.NewPlant): present.NewPlant => given;
export const plantJson = (given: recorded.PlantJson): present.PlantJson => given;
export const callOptions = (given: recorded.CallOptions): present.CallOptions => given;
export const createOptions = (given: recorded.CreatePlantsOptions): present.CreatePlantsOptions => given;
export const sender = (given: recorded.Fetch): present.Fetch => given;

// What it gets from the client.

export const created = (got: present.CreatedPlant): recorded.CreatedPlant => got;
export const refused = (got: present.ServiceRefused): Members<recorded.ServiceRefused> => got;
export const unreachable = (got: present.ServiceUnreachable): Members<recorded.ServiceUnreachable> => got;
export const aborted = (got: present.RequestAborted): Members<recorded.RequestAborted> => got;
export const client = (got: present.PlantStoreClient): Members<recorded.PlantStoreClient> => got;
