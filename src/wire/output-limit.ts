import type { AmountPaths } from '../core/amounts.js'
import type { Exchange } from '../core/plan.js'
import { valuesOfBytes } from './demand-values.js'
import { type Edit, findValue, settingValue } from './json-edit.js'

type Target = Pick<Exchange, 'output' | 'tariff'>

/**
 * Edits of a body that names no limit of output: it names `most`, or what is declared of the target if that is less. `paths`: where
 * its protocol names one; none: it cannot.
 */
export function limitingOutput(
  body: Uint8Array,
  paths: AmountPaths['output'],
  most: number,
  { output = {}, tariff }: Target,
): readonly Edit[] {
  const { max_output, max_tokens_field } = output
  const path =
    paths.find(([name]) => name === max_tokens_field) ??
    paths.find(one => findValue(body, one.slice(0, -1)) !== undefined) ??
    paths[0]
  if (path === undefined) return []
  return settingValue(body, path, String(Math.min(most, max_output ?? most, tariff?.maxOutput ?? most)))
}

/** The member by which a body asks for that many tokens of output; the protocol's first if none does. */
export function memberWith(amount: number, body: Buffer, paths: AmountPaths | undefined): string | undefined {
  if (paths === undefined) return undefined
  const at = valuesOfBytes(body, paths)
  const path = paths.output.find(one => Number(at(one)) > amount - 1) ?? paths.output[0]
  return path?.join('.')
}
