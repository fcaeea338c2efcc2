/** The variables of secrets, which come only from the environment, never from a flag: every user of a machine can see a command line. */
export const secrets = {
  accessToken: "PLANT_STORE_ACCESS_TOKEN",
  operatorToken: "PLANT_STORE_OPERATOR_TOKEN",
  databasePassword: "PLANT_STORE_DATABASE_PASSWORD",
} as const;

export type SecretName = keyof typeof secrets;
