"""The optimal proportions of pulls, and the characteristic time T* that belongs to them."""
