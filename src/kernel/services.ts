/** The name of what one feature keeps for the whole process. */
export interface ServiceKey<T> {
  readonly name: string
  /** Only for type checks. */
  readonly type?: (value: T) => T
}

export function serviceKey<T>(name: string): ServiceKey<T> {
  return { name }
}

/** What features keep for the whole process: each provides its own when it is opened. */
export class Services {
  readonly #values = new Map<object, unknown>()

  provide<T>(key: ServiceKey<T>, value: T): void {
    this.#values.set(key, value)
  }

  /** Throws if the feature is not in the list of features. */
  need<T>(key: ServiceKey<T>): T {
    const value = this.#values.get(key)
    if (value === undefined) throw new Error(`no feature has opened '${key.name}'`)
    return value as T
  }
}
