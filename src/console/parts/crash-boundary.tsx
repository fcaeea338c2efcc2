import { Component, type ComponentChildren } from "preact";
import { errorMessage } from "../api.ts";

interface CrashBoundaryProps {
  readonly children: ComponentChildren;
}

interface CrashState {
  readonly crash: unknown;
}

/** In place of a part that threw while it was rendered: a sentence and a way to reload, never a blank page. */
export class CrashBoundary extends Component<CrashBoundaryProps, CrashState> {
  override state: CrashState = { crash: undefined };

  override componentDidCatch(crash: unknown): void {
    this.setState({ crash });
  }

  override render() {
    const { crash } = this.state;
    if (crash === undefined) return this.props.children;
    return (
      <div class="card empty" role="alert">
        <h1>This page stopped working</h1>
        <p>
          That is an error of the console; the service and its plants are not affected. Reload the page to
          continue. If it happens again, report this message:
        </p>
        <pre class="code">{errorMessage(crash).slice(0, messageCharactersMax)}</pre>
        <div class="actions">
          <button type="button" class="primary" onClick={() => location.reload()}>
            Reload
          </button>
          {/* Not a link of the console's router, which may have crashed. */}
          <a class="button" href="/">
            Go to the overview
          </a>
        </div>
      </div>
    );
  }
}

const messageCharactersMax = 500;
