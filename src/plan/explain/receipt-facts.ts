import type { CaptureConfig, ReceiptsConfig } from '../../core/receipts.js'

const DAY_MS = 86_400_000

/** `/data/receipts, 30 days, requests without a receipt are served`. */
export function receiptsFact({ to, keep, when_full, key }: ReceiptsConfig): string {
  const place = to.type === 'store' ? 'in the store' : to.path
  const full =
    when_full === 'drop' ? 'if none can be written requests are served' : 'if none can be written requests are refused'
  return [place, `kept ${keep / DAY_MS} days`, full, ...(key === undefined ? [] : ['content is encrypted'])].join(', ')
}

/** `captures content for 7 days, masked: emails cards`. */
export function captureFact({ keep, mask, words }: CaptureConfig): string {
  const masked = ['keys', ...mask, ...(words.length === 0 ? [] : [`${words.length} words`])].join(' ')
  return `captures content for ${keep / DAY_MS} days, masked: ${masked}`
}
