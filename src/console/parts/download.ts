/** Downloads the URL without leaving the page, even if the response is an error. */
export function download(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
