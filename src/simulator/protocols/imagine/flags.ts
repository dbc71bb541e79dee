/** What a prompt says behind its words. */
export interface Flags {
  /** The words alone. */
  readonly text: string
  /** Width over height. */
  readonly ratio: number
  /** `--sim`: what is asked of the simulator, as the query of a model's name would. */
  readonly asked: string
}

const FLAG = /(?:^|\s)(?:--|\u2014)([a-z]+)((?:\s+(?!--|\u2014)\S+)*)/gi
const RATIO = /^(\d{1,3}):(\d{1,3})$/

/** Takes a prompt apart: its flags stand behind the words, each with what follows it. */
export function readFlags(prompt: string): Flags {
  let ratio = 1
  let asked = ''
  for (const [, name = '', rest = ''] of prompt.matchAll(FLAG)) {
    const value = rest.trim()
    const [, across = 0, down = 0] = RATIO.exec(value)?.map(Number) ?? []
    if (/^(ar|aspect)$/i.test(name) && across > 0 && down > 0) ratio = across / down
    if (/^sim$/i.test(name)) asked = value.split(/\s+/).join('&')
  }
  return { text: prompt.replace(FLAG, '').trim(), ratio, asked }
}
