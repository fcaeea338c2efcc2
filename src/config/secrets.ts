/** Secrets come only from the environment, never from a flag: every user of a machine can see a command line. */
export const secrets = {
  accessToken: { environment: "PLANT_STORE_ACCESS_TOKEN", help: "a token that may create plants" },
  operatorToken: {
    environment: "PLANT_STORE_OPERATOR_TOKEN",
    help: "a token for the console and the operator API",
  },
  databasePassword: { environment: "PLANT_STORE_DATABASE_PASSWORD", help: "the password for PostgreSQL" },
} as const;

export type SecretName = keyof typeof secrets;
