import type { ComponentChildren, TableHTMLAttributes } from "preact";

interface TableProps extends TableHTMLAttributes {
  readonly class: string;
  readonly columns: readonly string[];
  /** Whether each row ends with buttons, whose header only a screen reader needs. */
  readonly actions?: boolean;
  /** The rows. */
  readonly children: ComponentChildren;
}

/** A table with its header row. On a phone, each row is a block of its own. */
export function Table({ class: name, columns, actions, children, ...rest }: TableProps) {
  return (
    <table class={`listed ${name}`} {...rest}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
          {actions && (
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
