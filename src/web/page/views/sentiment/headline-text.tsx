/** The text of a headline, as a link if the service sent a web address, and its source. */
export function HeadlineText({
  text,
  url,
  source,
  isRetracted = false,
}: {
  text: string | null;
  url: string | null;
  source: string | null;
  isRetracted?: boolean;
}) {
  const said = text ?? '(without a text)';
  const link = linkOf(url);
  return (
    <>
      <bdi class={isRetracted ? 'retracted' : undefined}>
        {link ? (
          <a href={link} target="_blank" rel="noopener noreferrer">
            {said}
          </a>
        ) : (
          said
        )}
      </bdi>{' '}
      <bdi class="quiet">{source}</bdi>
    </>
  );
}

/** Returns an address that is safe in a link, because the service's text could be anything. */
function linkOf(url: string | null): string | undefined {
  if (url === null || !URL.canParse(url)) return undefined;
  return ['http:', 'https:'].includes(new URL(url).protocol) ? url : undefined;
}
