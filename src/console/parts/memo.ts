import { Component, type ComponentType, h } from "preact";

/** The component, drawn again only when one of its properties is another one. */
export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as P;
      return (Object.keys(next) as (keyof P)[]).some((key) => next[key] !== before[key]);
    }
    override render() {
      return h(Inner as ComponentType<object>, this.props);
    }
  };
}
