import { Component, type ComponentChildren } from "preact";
import { describeError } from "../api.ts";
import { Button } from "./controls.tsx";

/** Shows its children, or, once one of them throws while it is rendered, a sentence and a way to reload: never a blank page. */
export class CrashBoundary extends Component<{ readonly children: ComponentChildren }> {
  override state: { readonly crash?: unknown } = {};

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
        <pre class="code">{describeError(crash)}</pre>
        <div class="line">
          <Button class="primary" onClick={() => location.reload()}>
            Reload
          </Button>
          {/* Not a link of the console's router, which may have crashed. */}
          <a class="button" href="/">
            Go to the overview
          </a>
        </div>
      </div>
    );
  }
}
