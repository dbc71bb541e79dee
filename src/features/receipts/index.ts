import type { Feature } from '../../kernel/stages.js'
import { ReceiptsService } from './service.js'
import { receiptsStage } from './stage.js'

/** A receipt of each settled request. Before the features that settle attempts, so that it hears of them last. */
export const receipts: Feature<ReceiptsService> = {
  name: 'receipts',
  open: kernel => new ReceiptsService(kernel),
  compile: ({ plan }, service) => (plan.receipts === undefined ? undefined : receiptsStage(service, plan.receipts)),
}
