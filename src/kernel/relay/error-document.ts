import { isObject, type Json } from '../../core/json.js'

/** What an error counts as that says no status of its own. */
const BAD_GATEWAY = 502

/**
 * The status of an upstream's error that came as a JSON answer with a good status, as some servers send what their own
 * upstreams tell them: the one that the error names, or 502. As in event streams, that is a document that begins with an
 * `error` that is not empty, or is of the type `error`. Undefined for all others: they are answers, and a response that
 * failed has its `error` further behind.
 */
export function statusOfError(document: unknown): number | undefined {
  if (!isObject(document)) return undefined
  const { error } = document
  if (!isObject(error) && (typeof error !== 'string' || error === '')) return undefined
  const [first] = Object.keys(document)
  if (first !== 'error' && (first !== 'type' || document.type !== 'error')) return undefined
  const told = isObject(error) ? [error.code, error.status_code, error.status] : []
  return told.find(isErrorStatus) ?? BAD_GATEWAY
}

function isErrorStatus(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600
}
