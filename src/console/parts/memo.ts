import { Component, type ComponentType, h } from "preact";

/** Renders the component again only if one of its props changed. */
export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const previous = this.props as P;
      return (Object.keys(next) as (keyof P)[]).some((key) => next[key] !== previous[key]);
    }
    override render() {
      return h(Inner as ComponentType<object>, this.props);
    }
  };
}
