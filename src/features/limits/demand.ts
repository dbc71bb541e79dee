import type { AmountPaths, Demand } from '../../core/amounts.js'
import type { Body } from '../../kernel/body.js'
import { demandOfBytes, demandOfForm, demandOfNothing } from '../../wire/demand.js'

/** Reads what a request asks for. `paths`: of the protocol in which it is written. */
export function demandOf(body: Body, paths: AmountPaths | undefined): Demand {
  switch (body.type) {
    case 'bytes':
      return body.demand ?? demandOfBytes(body.bytes, paths)
    case 'form':
      return demandOfForm(body, paths)
    case 'none':
    case 'stream':
      return demandOfNothing(paths)
  }
}
