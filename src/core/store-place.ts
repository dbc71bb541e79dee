/** The key of a record. Nothing is found without naming the owner. */
export interface Place {
  /** Lower-case letters and dashes, at most {@link MAX_PLACE_CHARS}`.namespace`. */
  readonly namespace: string
  /** The caller's name. */
  readonly owner: string
  /** Visible ASCII. */
  readonly key: string
}

/** Characters. */
export const MAX_PLACE_CHARS = { namespace: 32, owner: 128, key: 256 } as const
/** Records that expire then, or later, never do: the memory store evicts none of them. */
export const NEVER_EXPIRES_MS = Date.UTC(9999, 0, 1)
/** Largest value of one record, bytes. */
export const MAX_VALUE_BYTES = 32 * 1024 * 1024

const FAULTS = ['refused', 'newer', 'corrupt', 'full', 'unavailable'] as const

/**
 * `refused`: the place cannot be used at all; `newer`: a later version of this program wrote what is there; `corrupt`:
 * what is there is no store; `full`: no space is left, or the record is too large; `unavailable`: anything else.
 */
export type StoreFault = (typeof FAULTS)[number]

export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly fault: StoreFault

  /**
   * By name and fault: the gateway is one script, and the package that a store of the user's own imports has another class for
   * the same.
   */
  static override [Symbol.hasInstance](value: unknown): value is StoreError {
    // biome-ignore lint/complexity/noThisInStatic: classes that extend this one inherit the method, and differ from it as ever
    return Function.prototype[Symbol.hasInstance].call(this, value) || (this === StoreError && isAlike(value))
  }

  constructor(fault: StoreFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.fault = fault
  }
}

function isAlike(value: unknown): boolean {
  return value instanceof Error && value.name === 'StoreError' && FAULTS.includes(Reflect.get(value, 'fault'))
}

/** Whether what was asked of a store may have happened, or may happen later, all the same. */
export function isUnclear(error: unknown): boolean {
  return error instanceof StoreError && error.fault === 'unavailable'
}

const NAMESPACE = /^[a-z][a-z-]*$/
const VISIBLE = /^[\x21-\x7e]+$/

/** Whether a record can have this key. Keys that clients make up are not valid, so nothing is found. */
export function isPlace({ namespace, owner, key }: Place): boolean {
  return isShelf(namespace, owner) && isKey(key)
}

export function isShelf(namespace: string, owner: string): boolean {
  return isNamespace(namespace) && owner.length <= MAX_PLACE_CHARS.owner && VISIBLE.test(owner)
}

export function isNamespace(namespace: string): boolean {
  return namespace.length <= MAX_PLACE_CHARS.namespace && NAMESPACE.test(namespace)
}

export function isKey(key: string): boolean {
  return key.length <= MAX_PLACE_CHARS.key && VISIBLE.test(key)
}

/** Throws {@link StoreError} where a record could be found by no one, or is too large. */
export function checkDraft(draft: Place & { readonly value: Uint8Array }): void {
  checkPlace(draft)
  checkValue(draft.value)
}

/** Throws {@link StoreError} for an invalid key. */
export function checkPlace(place: Place): void {
  if (!isPlace(place)) throw new StoreError('unavailable', 'the key of a record is not valid')
}

export function checkValue(value: Uint8Array): void {
  if (value.length > MAX_VALUE_BYTES) {
    throw new StoreError('full', `a record of ${value.length} bytes is over the limit of ${MAX_VALUE_BYTES}`)
  }
}
