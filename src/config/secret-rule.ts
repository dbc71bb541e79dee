/** The rule of problems that are the environment's, not the file's: a secret is not there. */
export const ABSENT_SECRET = 'absent-secret'
