import { GatewayError } from '../../core/errors.js'
import type { ReceiptsConfig } from '../../core/receipts.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import type { Stage } from '../../kernel/stages.js'
import { Captured } from '../content/captured.js'
import { MAX_CONTENT_BYTES } from './capture.js'
import { OpenReceipt } from './receipt.js'
import type { ReceiptsService } from './service.js'

const RECEIPT = slot<OpenReceipt>('receipt')

/** When to ask again, milliseconds: about the pause between two tries to write. */
const RETRY_AFTER_MS = 2000

/** Gathers what a receipt says of each request of a route, and writes it when all of it is known. */
export function receiptsStage(service: ReceiptsService, receipts: ReceiptsConfig): Stage {
  return {
    name: 'receipts',
    admit(call) {
      if (service.isFull) {
        service.onCount('refused', 1)
        throw unwritten()
      }
      const receipt = new OpenReceipt()
      receipt.journal = service.begin(receipts)
      call.set(RECEIPT, receipt)
      call.taps.add(receipt.answer)
      const capture = call.caller?.capture
      if (capture === undefined || !service.seals) return
      receipt.captured = new Captured(capture, MAX_CONTENT_BYTES, service.content)
      call.taps.add(receipt.captured)
    },
    onBody(call, body) {
      const receipt = call.get(RECEIPT)
      receipt?.arrived(body)
      if (body.type === 'bytes') receipt?.captured?.arrived(body.bytes)
      return body
    },
    beforeAttempt(attempt) {
      attempt.call.get(RECEIPT)?.began(attempt)
      return undefined
    },
    recordAttempt: (attempt, outcome) => attempt.call.get(RECEIPT)?.ended(attempt, outcome),
    record(call) {
      const receipt = call.get(RECEIPT) ?? (service.isFull ? undefined : refusedReceipt(call))
      if (receipt === undefined) return
      receipt.settle(() => service.write(call, receipt))
    },
  }
}

/** A request that ended before it was admitted. Those without a good key have no receipt: anyone could fill the disk with them. */
function refusedReceipt({ caller }: Call): OpenReceipt | undefined {
  return caller === undefined ? undefined : new OpenReceipt()
}

function unwritten(): GatewayError {
  return new GatewayError('unavailable', 'The gateway cannot record this request now. Try again soon.', {
    retryAfter: RETRY_AFTER_MS,
    limit: 'receipts',
  })
}
