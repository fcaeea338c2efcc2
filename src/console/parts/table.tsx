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
