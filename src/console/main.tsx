import { render } from "preact";
import { App } from "./app.tsx";
import { takeSignInResponse } from "./identity-provider.ts";
import { applyTheme } from "./parts/theme.tsx";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/overview.css";
import "./style/plants.css";
import "./style/work.css";

applyTheme();
const root = document.getElementById("console");
if (root !== null) render(<App signInResponse={takeSignInResponse()} />, root);
