import { GatewayError } from './errors.js'

/**
 * A declared rewrite of a JSON document, as bytes in and bytes out: what the verbs do not name stays byte for byte as
 * it was. Throws `SyntaxError` where the document is not a JSON object.
 */
export interface Transform {
  (document: Uint8Array): Uint8Array
  /** The same one after the other, for documents that are too large to be rewritten in one turn of the event loop. */
  readonly steps?: readonly Transform[]
}

/** A request's body, rewritten for its upstream. Throws `bad_request` where the verbs cannot be applied to it, and what a verb says of it. */
export function rewritten(rewrite: Transform | undefined, body: Uint8Array): Uint8Array {
  try {
    return rewrite?.(body) ?? body
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('bad_request', 'The body does not have the format that this model needs.', { cause })
  }
}

/** A declared rewrite of a form. Throws {@link GatewayError} where a form cannot say what is declared. */
export type FormTransform = (form: FormChanges) => void

/** What may be changed of a form; every other byte of it stays as it was. Parts are named as their client wrote them. */
export interface FormChanges {
  has(name: string): boolean
  /** What the parts of that name say, in order; undefined for a file. */
  values(name: string): readonly (string | undefined)[]
  /** Whether it occurs several times, or `list` was said of it. */
  isList(name: string): boolean
  /** From now on it is a list, even if it occurs once. */
  list(name: string): void
  /** Another text field of that name, before the one with that index; behind all others without one. */
  add(name: string, value: string, index?: number): void
  /** The one part that any reader takes for that name is a text field with this value, replacing what was there. */
  set(name: string, value: string): void
  /** All parts of that name have another one. */
  rename(from: string, to: string): void
  /** Removes every part that some reader finds at the path or below it: `metadata[user]` is at `metadata.user`. */
  remove(path: readonly string[]): void
  /** Removes every part that is not at one of the paths or below it. */
  keep(paths: readonly (readonly string[])[]): void
}
