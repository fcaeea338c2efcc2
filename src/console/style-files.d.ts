// Style is imported for the bundle alone.
declare module "*.css";
