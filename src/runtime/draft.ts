import { readFile } from 'node:fs/promises'
import { holdsSecret } from '../config/secret-lines.js'
import type { Problem } from '../core/problems.js'
import { inSlices } from '../core/steps.js'
import { changesBetween } from './changes.js'
import { type LoadOptions, loadPlan, type Running } from './load.js'

/** What the console knows of the configuration file. */
interface Drafts {
  /** The text of the file; lines that may hold a secret are masked. */
  file(): Promise<{ readonly file: string; readonly text: string; readonly masked: boolean }>
  /** What a reload of this text would do. */
  check(text: string): Promise<{
    readonly isValid: boolean
    readonly problems: readonly Problem[]
    readonly changes: object
  }>
}

const MASKED = '# this line may hold a secret and is not shown'

export function draftsOf(options: Pick<LoadOptions, 'file' | 'env' | 'overrides'>, running: () => Running): Drafts {
  return {
    async file() {
      const lines = (await readFile(options.file, 'utf8')).split('\n')
      const source = { line: (number: number): string => lines[number - 1] ?? '' }
      const shown = lines.map((line, at) => (holdsSecret(source, at + 1) ? MASKED : line))
      return { file: options.file, text: shown.join('\n'), masked: shown.includes(MASKED) }
    },
    async check(text) {
      const loaded = await loadPlan({ ...options, text: Buffer.from(text) })
      const { plan, config, problems } = loaded
      if (plan === undefined || config === undefined) return { isValid: false, problems, changes: {} }
      return { isValid: true, problems, changes: await inSlices(changesBetween(running().config, config)) }
    },
  }
}
