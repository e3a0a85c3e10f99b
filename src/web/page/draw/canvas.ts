import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** Returns the width of an element in whole CSS pixels; `before` until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>, before = 0): number {
  const [width, setWidth] = useState(before);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.floor(element.current?.clientWidth ?? 0));
    measure();
    const observer = new ResizeObserver(measure);
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Returns the page's font for a canvas, which does not inherit it. */
export function font(pixels: number): string {
  return `${pixels}px system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif`;
}

/** Clears a canvas, and sets its size in CSS pixels and its resolution to the screen's. */
export function clearedCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  return context;
}

/** Cuts a text with "…" so that it fits. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  // A binary search, because measuring takes time.
  let [fits, tooLong] = [0, text.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) fits = middle;
    else tooLong = middle;
  }
  return `${text.slice(0, fits).trimEnd()}…`;
}
