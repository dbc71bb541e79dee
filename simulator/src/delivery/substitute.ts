import { type Family, SimulatorError } from '../errors.js'
import type { Faults } from '../faults/table.js'
import { type Answer, type Document, type Headers, json } from '../protocol.js'

interface Substitutes {
  readonly faults: Faults
  readonly family: Family
  readonly requestId: string
  /** The credential, unchanged, for `echo-key`. */
  readonly credential: string
}

const PAGE = `<!doctype html>
<html><head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>simulator</center></body></html>
`

/** The answer, or what faults send instead of it; `answer` is then not called. */
export function substitute(answer: () => Answer, options: Substitutes): Answer {
  const { faults, family, requestId } = options
  const { status = 200, redirect, html, empty } = faults
  if (redirect !== undefined) return document(302, '', { location: redirect, 'content-type': 'text/plain' })
  if (html) return document(200, PAGE, { 'content-type': 'text/html; charset=utf-8' })
  if (empty) return document(200, '', { 'content-type': 'application/json' })
  if (status >= 400) return refusal(asked(family.usual(status), options), family, requestId, retryHeaders(faults))
  const real = answer()
  return status !== 200 && real.kind === 'document' ? { ...real, status } : real
}

/** An error in the shape of its family. */
export function refusal(error: SimulatorError, family: Family, requestId: string, headers: Headers = {}): Document {
  return json(family.body(error, requestId), error.status, { ...error.details.headers, ...headers })
}

/** The error with the credential and the time to wait, where they are asked for. */
function asked({ status, message, details }: SimulatorError, { faults, credential }: Substitutes): SimulatorError {
  const wait = faults['retry-info']
  const words = faults['echo-key'] === undefined ? message : `${message} You sent: ${credential}.`
  return new SimulatorError(status, words, wait === undefined ? details : { ...details, wait })
}

function retryHeaders(faults: Faults): Headers {
  const headers: Record<string, string> = {}
  const { 'retry-after': seconds, 'retry-after-ms': milliseconds, 'retry-after-date': away } = faults
  if (away !== undefined) headers['retry-after'] = new Date(Date.now() + away * 1000).toUTCString()
  if (seconds !== undefined) headers['retry-after'] = String(seconds)
  if (milliseconds !== undefined) headers['retry-after-ms'] = String(milliseconds)
  return headers
}

function document(status: number, text: string, headers: Headers): Document {
  return { kind: 'document', status, headers, body: Buffer.from(text) }
}
