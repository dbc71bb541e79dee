export type Environment = Readonly<Record<string, string | undefined>>

/** The environment of one load. Remembers what was asked for, since that is part of what was loaded. */
export class Variables {
  readonly #environment: Environment
  readonly #used = new Map<string, string | undefined>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  get(name: string): string | undefined {
    const value = Object.hasOwn(this.#environment, name) ? this.#environment[name] : undefined
    this.#used.set(name, value)
    return value
  }

  /** Names and values that were asked for, by name. */
  get used(): readonly (readonly [string, string | undefined])[] {
    return [...this.#used].sort(([a], [b]) => (a < b ? -1 : 1))
  }
}

/** Text with its variables filled in, or what hinders that: a variable that is not set or leaves nothing, or `${` of another form. */
type Interpolated =
  | { readonly text: string }
  | { readonly unset: string; readonly at: string }
  | { readonly empty: string; readonly at: string }
  | { readonly malformed: string }

/**
 * Fills in `${NAME}` and `${NAME:-default}` (the default counts where the variable is unset or empty). `$${` is a
 * literal `${`. Defaults are plain texts without `}`. A text that an empty variable leaves empty would mean something else
 * (an empty host is every address), so only the default can say that.
 */
export function interpolateText(text: string, variables: Variables): Interpolated {
  let result = ''
  let from = 0
  let empty: { readonly empty: string; readonly at: string } | undefined
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', from)) {
    if (text[at - 1] === '$' && at - 1 >= from) {
      result += `${text.slice(from, at - 1)}\${`
      from = at + 2
      continue
    }
    const match = VARIABLE.exec(text.slice(at, at + MAX_VARIABLE_CHARS))
    if (match === null) return { malformed: text.slice(at, at + 2) }
    const [whole, name = '', fallback] = match
    const value = variables.get(name)
    const chosen = fallback !== undefined && (value === undefined || value === '') ? fallback : value
    if (chosen === undefined) return { unset: name, at: whole }
    if (value === '' && fallback === undefined) empty ??= { empty: name, at: whole }
    result += text.slice(from, at) + chosen
    from = at + whole.length
  }
  result += text.slice(from)
  return result === '' && empty !== undefined ? empty : { text: result }
}

const VARIABLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/
const MAX_VARIABLE_CHARS = 4096
