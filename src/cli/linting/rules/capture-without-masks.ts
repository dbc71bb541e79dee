import type { Rule } from '../rule.js'

export const captureWithoutMasks: Rule = {
  id: 'capture-without-masks',
  severity: 'note',
  finds: 'a key whose requests and answers are kept with nothing masked',
  why: 'Anyone with the key of the receipts reads addresses, card numbers and everything else that users write.',
  mend: 'Write `capture: { mask: [emails, cards, phones] }`.',
  *check({ config: { keys } }) {
    for (const [name, { capture }] of Object.entries(keys)) {
      if (capture === undefined || capture.mask.length + capture.words.length > 0) continue
      yield { path: ['keys', name, 'capture'], message: `what ${JSON.stringify(name)} sends and gets is kept as it is` }
    }
  },
}
