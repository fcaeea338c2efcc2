// The package has no types of its own.
declare module "pgpass" {
  export interface PassFileLogin {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
  }
  export default function pgpass(
    login: PassFileLogin,
    callback: (password: string | undefined) => void,
  ): void;
}
