import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, foldGutter, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
import { EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'preact/hooks'

/** The colours of both themes: tokens, which change with the page. */
const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--c1)' },
  { tag: tags.string, color: 'var(--c3)' },
  { tag: tags.comment, color: 'var(--text3)' },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: 'var(--c4)' },
])

const MONO = 'ui-monospace, Menlo, "DejaVu Sans Mono", monospace'
const LOOK = EditorView.theme({
  '&': { height: '60vh', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '.cm-scroller': { fontFamily: MONO, lineHeight: '20px' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--text3)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 8%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-word': { maxWidth: '420px', font: '13px/20px system-ui, sans-serif', padding: '8px' },
  '.cm-completionInfo': { maxWidth: '320px', font: '13px/20px system-ui, sans-serif', padding: '8px' },
  '&.cm-merge-b .cm-changedLine': { backgroundColor: 'var(--ok-bg)' },
  '&.cm-merge-b .cm-changedText': { background: 'none', fontWeight: '600' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-bg)' },
  '.cm-deletedChunk .cm-deletedText': { background: 'none', fontWeight: '600' },
})

interface EditorProps {
  readonly text: string
  /** What it is compared with; absent: it is shown alone. */
  readonly original: string | undefined
  readonly label: string
  readonly extensions?: readonly Extension[]
  readonly isReadOnly?: boolean
  readonly onReady?: (view: EditorView) => void
}

/** An editor of YAML. Another text or another original makes it anew. */
export function Editor({ text, original, label, extensions = [], isReadOnly = false, onReady }: EditorProps) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current } = place
    if (current === null) return
    // Its styles are adopted by its shadow root: the document's policy allows none that are written into it.
    const root = current.shadowRoot ?? current.attachShadow({ mode: 'open' })
    const view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: text,
        extensions: [
          ...[lineNumbers(), foldGutter(), history(), drawSelection(), bracketMatching(), yaml()],
          ...[syntaxHighlighting(COLOURS), EditorView.lineWrapping, LOOK],
          ...(isReadOnly ? [EditorState.readOnly.of(true)] : [highlightActiveLine()]),
          ...(original === undefined ? [] : [unifiedMergeView({ original, mergeControls: false })]),
          ...extensions,
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ 'aria-label': label }),
        ],
      }),
    })
    // It can be longer than its frame: a keyboard must be able to move it.
    view.scrollDOM.tabIndex = 0
    onReady?.(view)
    return () => view.destroy()
  }, [text, original])
  return <div ref={place} class="editor" />
}
