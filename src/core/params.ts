/** Parameters of a path by their names, decoded. */
export type Params = Readonly<Record<string, string>>

/** Has its own members alone: V8 makes a hash table of an object without a prototype, which costs several times as much. */
class Bare {
  [name: string]: string
}
Object.setPrototypeOf(Bare.prototype, null)
Reflect.deleteProperty(Bare.prototype, 'constructor')

/** To be filled in; no name means anything before it is. */
export function newParams(): Record<string, string> {
  return new Bare()
}

export const NO_PARAMS: Params = Object.freeze(newParams())
