import type { AmountPaths } from './amounts.js'
import type { Price } from './bounds.js'
import type { Units } from './cost.js'

/** What is spoken and what is heard are sound, though the upstream does not say so: it costs that where text has no price. */
export function asSound(units: Units, paths: AmountPaths | undefined, price: Price | undefined): Units {
  const isSpoken = units.output !== undefined && speaks(paths) && isOfSound('output', units, price)
  const isHeard = units.input !== undefined && paths?.audio === true && isOfSound('input', units, price)
  if (!isSpoken && !isHeard) return units
  // A copy, which most requests are spared.
  const { input, output, ...others } = units
  return {
    ...others,
    ...(input !== undefined && { [isHeard ? 'input_audio' : 'input']: input }),
    ...(output !== undefined && { [isSpoken ? 'output_audio' : 'output']: output }),
  }
}

/** Whether requests ask for text to be spoken. */
export function speaks(paths: AmountPaths | undefined): boolean {
  return paths !== undefined && paths.characters.length > 0
}

function isOfSound(side: 'input' | 'output', units: Units, price: Price | undefined): boolean {
  const sound = `${side}_audio` as const
  return price?.[side] === undefined && price?.[sound] !== undefined && units[sound] === undefined
}
