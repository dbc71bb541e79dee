/** What is declared and not served because upstreams are off, with reasons for the operator. */
export interface SwitchedOff {
  /** Upstreams that are off, by name. */
  readonly upstreams: ReadonlyMap<string, string>
  /** Models, as declared, none of whose upstreams is on. */
  readonly models: ReadonlyMap<string, string>
  /** Why no route can serve a model of that name; undefined where an upstream of it is on. */
  whyNot(model: string): string | undefined
  /** Why none of these upstreams can be asked; undefined where one can. */
  reason(upstreams: readonly string[]): string | undefined
}
