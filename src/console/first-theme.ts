// A script of its own in <head>, which the browser runs before it draws anything: no page flashes in the other theme.
import { readTheme, showTheme } from "./theme.ts";

showTheme(readTheme());
