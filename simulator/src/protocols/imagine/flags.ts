/** What a prompt says behind its words. */
export interface Flags {
  /** The words alone. */
  readonly text: string
  /** Width over height. */
  readonly ratio: number
  /** `--sim`: what is asked of the simulator, as the query of a model's name would. */
  readonly asked: string
}

const FLAG = /^(?:--|\u2014)([a-z]+)$/i
const RATIO = /^(\d{1,3}):(\d{1,3})$/

/** Takes a prompt apart: its flags stand behind the words, each with what follows it. */
export function readFlags(prompt: string): Flags {
  const words: string[] = []
  const flags: { readonly name: string; readonly values: string[] }[] = []
  for (const word of prompt.split(/\s+/)) {
    const [, name] = FLAG.exec(word) ?? []
    if (name !== undefined) flags.push({ name: name.toLowerCase(), values: [] })
    else if (word !== '') (flags.at(-1)?.values ?? words).push(word)
  }
  let ratio = 1
  let asked = ''
  for (const { name, values } of flags) {
    const [, across = 0, down = 0] = RATIO.exec(values.join(' '))?.map(Number) ?? []
    if ((name === 'ar' || name === 'aspect') && across > 0 && down > 0) ratio = across / down
    if (name === 'sim') asked = values.join('&')
  }
  return { text: words.join(' '), ratio, asked }
}
