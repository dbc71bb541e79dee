/** What answers may say of who answered, a header each. */
export const EXPOSED = ['upstream', 'model', 'attempts', 'cost', 'timing', 'generation'] as const
export type Exposed = (typeof EXPOSED)[number]
