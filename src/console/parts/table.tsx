import type { ComponentChildren } from "preact";

interface TableHeadProps {
  readonly columns: readonly string[];
  /** Whether each row ends with buttons, whose header only a screen reader needs. */
  readonly actions?: boolean;
}

/** The header row of a table. */
export function TableHead({ columns, actions }: TableHeadProps) {
  return (
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
  );
}

interface RowGroupProps {
  readonly title: string;
  /** How many columns the table has. */
  readonly columns: number;
  readonly children: ComponentChildren;
}

/** Rows of a table under a heading of their own. */
export function RowGroup({ title, columns, children }: RowGroupProps) {
  return (
    <tbody>
      <tr class="row-group">
        <th scope="rowgroup" colSpan={columns}>
          {title}
        </th>
      </tr>
      {children}
    </tbody>
  );
}
