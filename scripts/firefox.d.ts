export const firefox: string;
