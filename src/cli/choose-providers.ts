import { createInterface, type Interface } from 'node:readline/promises'
import { suggest } from '../config/suggest.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import type { Provider } from './providers.js'
import { table } from './table.js'

/** Providers with the numbers that answer for them. */
export function providerTable(known: readonly Provider[], io: Io): string {
  const rows = known.map(({ name, description }, index) => [String(index + 1), name, description])
  return table({ head: ['', 'provider', 'description'], rows, paint: paints(coloured(io.stdout, io.env)).bold })
}

/** Finds providers by their names. Throws {@link CommandError} with what was probably meant. */
export function chooseProviders(known: readonly Provider[], names: readonly string[]): readonly Provider[] {
  const byName = new Map(known.map(provider => [provider.name, provider]))
  return [...new Set(names)].map(name => {
    const provider = byName.get(name)
    if (provider !== undefined) return provider
    const meant = suggest(name, byName.keys())
    const hint = /\.ya?ml$/.test(name)
      ? 'put the file first, or after --'
      : meant === undefined
        ? '--provider list prints them'
        : `did you mean "${meant}"?`
    throw new CommandError(`no provider is called "${name}"; ${hint}`)
  })
}

/** Asks on the terminal. Throws {@link CommandError} where there is none, and where the terminal is closed. */
export async function askForProviders(known: readonly Provider[], io: Io): Promise<readonly Provider[]> {
  if (!io.stdin.isTTY || !io.stdout.isTTY) {
    throw new CommandError('this is not a terminal: name providers with --provider (--provider list prints them)')
  }
  print(io.stdout, providerTable(known, io))
  const dialogue = createInterface({ input: io.stdin, output: io.stdout })
  try {
    let chosen: readonly Provider[] = []
    while (chosen.length === 0) {
      const answer = await question(dialogue, '\nProviders (numbers or names, separated by commas or spaces): ')
      chosen = parseChoice(known, answer, io)
    }
    return chosen
  } finally {
    dialogue.close()
  }
}

/** Empty if the answer was empty or names an unknown provider, which is printed. */
function parseChoice(known: readonly Provider[], answer: string, io: Io): readonly Provider[] {
  const names = answer.split(/[\s,]+/).filter(Boolean)
  try {
    return chooseProviders(
      known,
      names.map(name => known[Number(name) - 1]?.name ?? name),
    )
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    print(io.stdout, error.message)
    return []
  }
}

/** The interface itself never settles a question whose input ends. */
function question(dialogue: Interface, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new CommandError('nothing was written', EXIT.failed))
    dialogue.once('close', ended)
    dialogue.question(text).then(answer => {
      dialogue.off('close', ended)
      resolve(answer)
    }, ended)
  })
}
