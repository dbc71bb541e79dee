import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** Parts that a keyboard can choose: left, top, width and height as shares of the picture. */
const PARTS = {
  'Upper half': [0, 0, 1, 0.5],
  'Lower half': [0, 0.5, 1, 0.5],
  'Left half': [0, 0, 0.5, 1],
  'Right half': [0.5, 0, 0.5, 1],
} as const

interface MaskProps {
  readonly file: Blob
  /** A PNG of the picture's size that is transparent where it may change; undefined: everywhere. */
  readonly onMask: (mask: Blob | undefined) => void
}

/** A picture on which one draws what may change. */
export function Mask({ file, onMask }: MaskProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const url = useSignal<string | undefined>(undefined)
  const brush = useSignal(12)
  const isDrawn = useSignal(false)
  const last = useRef<readonly [number, number] | undefined>(undefined)
  useEffect(() => {
    const made = URL.createObjectURL(file)
    url.value = made
    isDrawn.value = false
    onMask(undefined)
    return () => URL.revokeObjectURL(made)
  }, [file])
  const pen = (): CanvasRenderingContext2D | undefined => {
    const context = canvas.current?.getContext('2d') ?? undefined
    if (context === undefined) return undefined
    const colour = getComputedStyle(document.documentElement).getPropertyValue('--c4').trim()
    context.fillStyle = colour
    context.strokeStyle = colour
    context.lineCap = 'round'
    context.lineWidth = (brush.value / 100) * context.canvas.width
    return context
  }
  const done = (): void => {
    const { current } = canvas
    if (current === null) return
    isDrawn.value = true
    maskOf(current).then(onMask, () => onMask(undefined))
  }
  const draw = (event: PointerEvent): void => {
    const context = pen()
    if (context === undefined || event.buttons === 0) return
    const { left, top, width, height } = context.canvas.getBoundingClientRect()
    const x = ((event.clientX - left) / width) * context.canvas.width
    const y = ((event.clientY - top) / height) * context.canvas.height
    const [fromX, fromY] = last.current ?? [x, y]
    context.beginPath()
    context.moveTo(fromX, fromY)
    context.lineTo(x, y)
    context.stroke()
    last.current = [x, y]
  }
  const fill = ([x, y, width, height]: (typeof PARTS)[keyof typeof PARTS]): void => {
    const context = pen()
    const { width: whole = 0, height: high = 0 } = context?.canvas ?? {}
    context?.fillRect(x * whole, y * high, width * whole, height * high)
    done()
  }
  const clear = (): void => {
    const context = pen()
    context?.clearRect(0, 0, context.canvas.width, context.canvas.height)
    isDrawn.value = false
    onMask(undefined)
  }
  return (
    <fieldset class="mask" aria-label="Mask">
      <p class="mut">Draw over what may change. Without a mask, all of it may.</p>
      <div class="under">
        {url.value === undefined ? null : (
          <img
            src={url.value}
            alt="To be changed"
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
              if (canvas.current !== null) Object.assign(canvas.current, { width: naturalWidth, height: naturalHeight })
            }}
          />
        )}
        <canvas
          ref={canvas}
          aria-label={isDrawn.value ? 'A mask is drawn' : 'No mask is drawn'}
          role="img"
          onPointerDown={event => {
            event.currentTarget.setPointerCapture(event.pointerId)
            last.current = undefined
            draw(event)
          }}
          onPointerMove={draw}
          onPointerUp={done}
        />
      </div>
      <div class="bar-of-controls mask-tools">
        <label class="brush">
          <span class="mut">Brush</span>
          <input
            type="range"
            min={2}
            max={40}
            value={brush.value}
            onInput={event => (brush.value = Number(event.currentTarget.value))}
          />
        </label>
        {Object.entries(PARTS).map(([name, part]) => (
          <button type="button" key={name} class="btn" onClick={() => fill(part)}>
            {name}
          </button>
        ))}
        <button type="button" class="btn" disabled={!isDrawn.value} onClick={clear}>
          No mask
        </button>
      </div>
    </fieldset>
  )
}

/** Opaque, and transparent where something is drawn. */
async function maskOf(drawn: HTMLCanvasElement): Promise<Blob | undefined> {
  const mask = document.createElement('canvas')
  Object.assign(mask, { width: drawn.width, height: drawn.height })
  const context = mask.getContext('2d')
  if (context === null) return undefined
  context.fillRect(0, 0, mask.width, mask.height)
  context.globalCompositeOperation = 'destination-out'
  // Strokes overlap at their ends: half-transparent ones would leave something.
  context.drawImage(drawn, 0, 0)
  return await new Promise(resolve => mask.toBlob(blob => resolve(blob ?? undefined), 'image/png'))
}
