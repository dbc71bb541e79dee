import { type Family, SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'

/** What an answer says of a request: these stand in the body, and the status of HTTP is 200 whichever it is. */
export const CODES = {
  submitted: 1,
  notFound: 3,
  invalid: 4,
  failed: 9,
  exists: 21,
  queued: 22,
  full: 23,
  banned: 24,
} as const

const SAID: Readonly<Record<number, string>> = {
  [CODES.notFound]: 'No available account instance',
  [CODES.invalid]: 'The request is not valid',
  [CODES.failed]: 'The task could not be submitted',
  [CODES.full]: 'The queue is full, please try again later',
}

/** A refusal as this family makes it. */
export function refused(code: number, description = SAID[code] ?? 'The request was refused'): SimulatorError {
  return new SimulatorError(200, description, { code: String(code) })
}

/** The family of image tasks: `{ code, description }`. */
export const imagining: Family = {
  body: ({ status, message: description, details: { code } }) => {
    const usual = status === 400 ? CODES.invalid : CODES.failed
    return { code: code !== undefined && /^\d+$/.test(code) ? Number(code) : usual, description }
  },
  usual: status => new SimulatorError(status, compatible.usual(status).message),
  headers: () => ({}),
}
