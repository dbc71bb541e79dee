/** What an entry says, by what it says it of, as texts to compare. */
export type Words = ReadonlyMap<string, string>

/** A word whose text is never shown: only whether it is another one. */
export const SECRET = 'secret'
